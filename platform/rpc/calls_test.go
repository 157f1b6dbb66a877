package rpc

import (
	"testing"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

// TestCalls checks invariant 11.
func TestCalls(t *testing.T) {
	t.Parallel()
	c := calls{companies: map[id.Company]int{}}
	companies := make([]id.Company, 6)
	for i := range companies {
		companies[i] = id.New[id.Company]()
	}
	fill := func(company id.Company) (n int) {
		for ; n <= maxStreams; n++ {
			if err := c.begin(company); err != nil {
				if f := fault.From(err); f.Kind != fault.Unavailable || f.RetryAfter == 0 {
					t.Error(err)
				}
				return n
			}
		}
		return n
	}
	for i, want := range []int{512, 256, 128, 64, 64, 64} {
		if got := fill(companies[i]); got != want {
			t.Errorf("company %d has %d calls in progress, want %d", i, got, want)
		}
	}
	if err := c.begin(id.Company{}); err != nil {
		t.Errorf("a call of no company is refused: %v", err)
	}
	c.end(id.Company{})
	c.end(companies[0])
	for _, company := range companies {
		for c.companies[company] > 0 {
			c.end(company)
		}
	}
	if c.all != 0 || len(c.companies) != 0 {
		t.Errorf("after all calls, %d are counted for %d companies", c.all, len(c.companies))
	}
}
