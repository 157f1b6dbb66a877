package page_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"reservation.dev/platform/page"
)

func TestStream(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for _, tt := range []struct {
		behaviour string
		rows      int
		after     int
		failsAt   int // the read or the send that fails; 0: none
		sent      []int
		reads     int
		err       error
	}{
		{"sends nothing if there are no rows", 0, 0, 0, nil, 1, nil},
		{"ends with a page that is not full", 5, 0, 0, []int{1, 2, 3, 4, 5}, 2, nil},
		{"finds no rows after a last page that is full", 6, 0, 0, []int{1, 2, 3, 4, 5, 6}, 3, nil},
		{"continues after a key", 6, 4, 0, []int{5, 6}, 1, nil},
		{"ends at the first failure", 9, 0, 2, []int{1, 2, 3}, 2, broken},
	} {
		t.Run(tt.behaviour, func(t *testing.T) {
			reads := 0
			var sent []int
			err := page.Keyset[int, int]{
				Size: 3, Key: func(row *int) int { return *row },
				Read: func(_ context.Context, after int) (rows []int, err error) {
					if reads++; reads == tt.failsAt {
						return nil, broken
					}
					for row := after + 1; row <= min(tt.rows, after+3); row++ {
						rows = append(rows, row)
					}
					return rows, nil
				},
				Send: func(rows []int) error {
					sent = append(sent, rows...)
					return nil
				},
			}.Stream(t.Context(), tt.after)
			if !errors.Is(err, tt.err) || reads != tt.reads || !slices.Equal(sent, tt.sent) {
				t.Errorf("sent %v in %d reads, %v", sent, reads, err)
			}
		})
	}
}
