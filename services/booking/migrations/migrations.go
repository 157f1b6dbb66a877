// Package migrations holds the schema of the booking database.
package migrations

import "embed"

// FS has the migrations at its root. They are forward only, and safe under the
// previous binary.
//
//go:embed *.sql
var FS embed.FS
