package rpc

import (
	"sync"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

// Calls that wait, for example for a row or a commit, occupy the streams of a gateway's connection.
// calls limits how many are those of one company, so that the calls of other companies do not have to
// wait in the gateway.
type calls struct {
	mu        sync.Mutex
	all       int
	companies map[id.Company]int // those with calls in progress
}

// fewCalls is how many calls a company can always have in progress.
const fewCalls = 64

var errTooManyCalls = fault.New(fault.Unavailable, fault.ReasonServiceUnavailable,
	"too many requests of this company are in progress; wait, then send fewer at a time").After(time.Second)

// begin counts a call of a company. A company can have half of the calls that the others leave. A
// call of no company is not counted: it concerns the whole platform, or needs no token. A call of
// another service in the name of a company counts as the company's.
func (c *calls) begin(company id.Company) error {
	if company.IsZero() {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	own := c.companies[company]
	if own >= max(fewCalls, (maxStreams-(c.all-own))/2) {
		return errTooManyCalls
	}
	c.companies[company] = own + 1
	c.all++
	return nil
}

// end ends a call that began.
func (c *calls) end(company id.Company) {
	if company.IsZero() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all--
	if own := c.companies[company] - 1; own > 0 {
		c.companies[company] = own
	} else {
		delete(c.companies, company)
	}
}
