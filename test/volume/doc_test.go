// Package volume requests every page of the dashboard, and what Interface B reads of a booking, while the
// databases have 100,000 customers and 1,000,000 bookings. SQL fills them, which takes minutes and 2 GB of disk.
//
//	go test -count=1 -v -timeout 40m -run TestSlowVolume ./test/volume
//
// The first pages are those of the busiest objects: an event with 500 dates, a date with 60 bookings and one
// with 500, and a customer with 2,000 bookings, 20 passes and 200 notes. The others are found by their links.
//
// # Invariants
//
//  1. A page and its assets transfer at most 150 kB.
//  2. A request runs at most maxStatements statements, which read at most maxBlocks blocks, so that its time
//     depends on neither the number of customers nor that of bookings. The pages of a customer and of a date
//     also read the bookings of that customer or date, but no others.
//
// The times are printed. They have no limit in the test, because they depend on the machine.
package volume

import (
	"testing"

	"reservation.dev/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
