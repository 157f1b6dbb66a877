// Package migrations holds the schemas' migrations to what an upgrade without an
// interruption needs: the previous release goes on working on the new schema, and
// nobody waits long for a lock.
//
// The migrations of the previous release, which deploy/previous-release names, are
// as they were. Those that came since must not take anything away that it uses,
// nor lock what it writes; a comment above a statement excuses it from a rule:
//
//	-- allow backfill: a row per company, of which there are few
//	update companies set …
package migrations
