package model

import (
	"time"

	"reservation.dev/platform/id"
)

// HoldStatus is the status of a hold as readers see it.
//
//	active ── paid ──▶ confirmed
//	   ├── expired, or the date was cancelled ──▶ expired
//	   └── released by the caller ──▶ released
type HoldStatus string

const (
	HoldActive    HoldStatus = "active"
	HoldConfirmed HoldStatus = "confirmed"
	HoldExpired   HoldStatus = "expired"
	HoldReleased  HoldStatus = "released"
)

// Hold is a transaction that reserves spaces until it expires.
type Hold struct {
	Transaction
	Status    HoldStatus
	ExpiresAt time.Time
	// Offer reports that the hold is the offer of a waitlist entry.
	Offer bool
}

// HeldStatus returns the status of a hold whose transaction has the status s at now. While a payment
// by pass is in progress, the hold is active.
func HeldStatus(s TransactionStatus, expiresAt, now time.Time) HoldStatus {
	switch {
	case s == Confirmed:
		return HoldConfirmed
	case s == Released, s == Held && !now.Before(expiresAt):
		return HoldExpired
	default:
		return HoldActive
	}
}

// Appointment returns the appointment whose slot is held; zero if the hold is of other dates.
func (h *Hold) Appointment() id.Appointment {
	for i := range h.Bookings {
		if b := &h.Bookings[i]; b.Date.OfAppointment {
			return id.Appointment(b.ID)
		}
	}
	return id.Appointment{}
}

// Version increases when the hold ends, and with every later change of the purchase.
func (h *Hold) Version() int64 {
	if h.Status == HoldActive {
		return h.Transaction.Version
	}
	return h.Transaction.Version + 1
}

// Ended returns the hold after it has ended with a status.
func (h *Hold) Ended(status HoldStatus) *Hold {
	ended := *h
	ended.Status = status
	return &ended
}
