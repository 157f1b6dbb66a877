package store

import "reservation.dev/services/booking/model"

// Jobs look for rows of all companies that are due by the real time. A test clock that is ahead makes
// rows of its company due earlier: each job has a second branch, which looks for them in the indexes
// *_by_test_clock. These contain no rows of companies in live mode. The branches have their limits apart,
// and the second one takes a random part, so that no company delays another.

const (
	// clocks is the companies whose test clock is ahead, each with what it shows at $1.
	clocks = ` from (select company_id, $1::timestamptz + make_interval(secs => clock_offset_seconds) as now
			from companies where clock_offset_seconds > 0 offset 0) c`

	// heldByClock finds the expired holds of c that are not expired by the real time.
	heldByClock = ` from transactions t where t.company_id = c.company_id and substr(t.company_id::text, 15, 1) = '8'
		and t.status = 'held' and t.expires_at > $1 and t.expires_at <= c.now`

	// waitingByClock finds the waiting entries of c whose dates have started, but not by the real time.
	waitingByClock = ` from waitlist_entries w where w.company_id = c.company_id and substr(w.company_id::text, 15, 1) = '8'
		and w.state = 'waiting' and w.closes_at > $1 and w.closes_at <= c.now`

	// awayByClock finds the waiting entries of companies in clocks whose passes could not be checked,
	// before $2 by the test clock.
	awayByClock = clocks + ` join waitlist_entries w on w.company_id = c.company_id and w.state = 'waiting'
			and w.passed_over_reason = '` + model.PassedOverPassAway + `' and w.passed_over_at > $2 and w.passed_over_at <= c.now - ($1 - $2)`
)
