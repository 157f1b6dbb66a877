package model

import "time"

// PassState is what SyncSubscriptionPass has to say.
type PassState struct {
	Status          string     // active, paused or cancelled
	StartDay        time.Time  // of the subscription
	LastDay         *time.Time // of the subscription; nil: it renews, or is paused and its last day will move
	PeriodLastDay   time.Time  // of the current period
	Bookings        Bookings   // of the current plan; BookingsNone: the pass keeps its type
	Unlimited       bool
	UnusableFrom    *time.Time
	UsableAgainFrom *time.Time
	Quiet           bool // the creation of the pass publishes no event
	Grants          []Grant
}

// Values of PassState.Status.
const (
	PassActive    = "active"
	PassPaused    = "paused"
	PassCancelled = "cancelled"
)

// Grant is the credits that a period begins with.
type Grant struct {
	Period      int32
	Credits     int32 // 0 unless the plan of the period has credits
	MaxRollover int32 // unused credits that stay, at most
	Unlimited   bool
	FirstDay    time.Time
}

// grant returns the grant that the period needs.
func (p *Period) grant() Grant {
	return Grant{
		Period: p.Number, Credits: p.Credits, MaxRollover: p.MaxRollover, Unlimited: p.Bookings == BookingsUnlimited, FirstDay: p.FirstDay,
	}
}

// PassState returns the state of the pass, with the grants of periods, which are ascending. It is only
// meant for subscriptions with HasPass. Periods of plans without bookings have grants too, so that the
// numbers have no gaps.
func (v *View) PassState(grants []Period, zone *time.Location) PassState {
	s := PassState{
		Status: v.passStatus(), StartDay: v.StartDay, PeriodLastDay: v.Current.LastDay,
		Bookings: v.Bookings, Unlimited: v.Bookings == BookingsUnlimited, Quiet: v.Imported,
	}
	if !v.Paused {
		s.LastDay = v.LastDay
	}
	if s.Status == PassActive {
		v.setUnusable(&s, zone)
	}
	for i := range grants {
		s.Grants = append(s.Grants, grants[i].grant())
	}
	return s
}

// passStatus returns the status of the pass: paused also after the grace period (invariant 7).
func (v *View) passStatus() string {
	switch {
	case v.EndReason != NotEnded:
		return PassCancelled
	case v.Paused || v.Suspended:
		return PassPaused
	}
	return PassActive
}

// setUnusable sets from when on an active pass cannot pay: the end of the grace period, or a scheduled pause.
func (v *View) setUnusable(s *PassState, zone *time.Location) {
	switch {
	case v.SuspendedFrom != nil:
		s.UnusableFrom = v.SuspendedFrom
	case v.PauseFirstDay != nil:
		s.UnusableFrom = new(StartOfDay(*v.PauseFirstDay, zone))
		if v.PauseResumesOn != nil {
			s.UsableAgainFrom = new(StartOfDay(*v.PauseResumesOn, zone))
		}
	}
}
