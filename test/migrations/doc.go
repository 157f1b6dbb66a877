// Package migrations checks that migrations allow an upgrade without an interruption: the
// previous release keeps working on the new schema, and no statement holds a lock for long.
//
// The migrations of the previous release, which deploy/previous-release names, must be unchanged.
// Later migrations must not remove anything that the previous release uses, and must not lock
// tables that it writes to. A comment above a statement excuses it from a rule:
//
//	-- allow backfill: a row per company, of which there are few
//	update companies set …
package migrations
