// Package migrations holds the schema of the reports service.
package migrations

import "embed"

// FS has the migrations in its root, in the order of their numbers.
//
//go:embed *.sql
var FS embed.FS
