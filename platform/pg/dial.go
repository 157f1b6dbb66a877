package pg

import (
	"net"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// A server whose machine has died answers nothing, not even that the connection is closed. A
// connection to it ends after one of these times, so that jobs, which have no deadline of their own,
// continue on another server.
const (
	// unansweredTime is how long sent data may stay unacknowledged. It is longer than a statement.
	unansweredTime = 20 * time.Second
	// An idle connection ends after idleTime and probes × probeEvery.
	idleTime   = 10 * time.Second
	probeEvery = 5 * time.Second
	probes     = 3
)

// dialFunc returns the function that connects to the server within timeout.
func dialFunc(timeout time.Duration) pgconn.DialFunc {
	d := &net.Dialer{
		Timeout:         timeout,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: idleTime, Interval: probeEvery, Count: probes},
		Control:         limitUnanswered,
	}
	return d.DialContext
}
