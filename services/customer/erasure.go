package customer

import (
	"crypto/sha256"
	"time"

	"reservation.dev/platform/id"
)

// erasedEmail is the address of erased customers. Mail to its domain is never delivered (RFC 2606).
const erasedEmail = "erased@customer.invalid"

// Erase overwrites everything personal and deletes the customer. A customer who was already deleted
// keeps the time of that deletion.
func (c *Customer) Erase(now time.Time) {
	c.touch(now)
	c.Reference = nil
	for _, f := range fields() {
		*f.value(c) = f.erased
	}
	if c.DeletedAt == nil {
		c.DeletedAt = &c.UpdatedAt
	}
}

// rounds is how often an erasure is announced; see package privacy.
const rounds = 2

// Erasure is the request to erase a customer, and its progress.
type Erasure struct {
	Company         id.Company  `db:"company_id"`
	Customer        id.Customer `db:"customer_id"`
	RequestedBy     string      `db:"requested_by"`
	RequestedAt     time.Time   `db:"requested_at"`
	ReferenceDigest []byte      `db:"reference_digest"`
	Round           int32       `db:"round"`
	LastRound       int32       `db:"last_round"`
	AnnouncedAt     time.Time   `db:"announced_at"`
	EventsRemovedAt *time.Time  `db:"events_removed_at"`
	CompletedAt     *time.Time  `db:"completed_at"`
}

// erasers are the services that answer each round. The customer service itself erases in the commit
// of the request.
func erasers() []string {
	return []string{"auth", "booking", "pass", "subscription", "media", "webhook"}
}

// erasureAnswer is a service's confirmation that it has erased a customer.
type erasureAnswer struct {
	Customer id.Customer `db:"customer_id"`
	Service  string      `db:"service"`
	Round    int32       `db:"round"`
	ErasedAt time.Time   `db:"erased_at"`
}

// restart begins an erasure again after databases were restored from a backup. An erasure that was
// under way may wait for a lost announcement, and may have answers of databases that have the data
// again.
func (e *Erasure) restart(now time.Time) {
	e.Round++
	e.LastRound = e.Round + rounds - 1
	e.AnnouncedAt, e.EventsRemovedAt, e.CompletedAt = now, nil, nil
}

// referenceDigest identifies a reference of the company without revealing it.
func referenceDigest(company id.Company, reference string) []byte {
	sum := sha256.Sum256(append(company[:], reference...))
	return sum[:]
}
