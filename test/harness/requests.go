package harness

import (
	"errors"
	"testing"
	"time"

	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// AwaitRequests waits until the request log of the company has requests that match, and returns the
// latest of them.
func (c *Company) AwaitRequests(t testing.TB, req *authv1.ListRequestsRequest) []*authv1.LoggedRequest {
	t.Helper()
	var found []*authv1.LoggedRequest
	Eventually(t, time.Minute, func() error {
		res, err := c.op.Requests.ListRequests(c.Ctx(t.Context()), req)
		if found = res.GetRequests(); err == nil && len(found) == 0 {
			err = errors.New("the request is not in the log")
		}
		return err
	})
	return found
}
