package model

import (
	"fmt"
	"strings"
	"time"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/money"
)

// ReasonDiscountInvalid is the reason for refusing a discount code. The fact "why" names the
// condition that failed.
const ReasonDiscountInvalid = "DISCOUNT_INVALID"

// DiscountCode reduces the price of a transaction: every line by a share, or all lines together by
// an amount.
type DiscountCode struct {
	ID          id.DiscountCode
	Code        string // as entered
	BasisPoints *int32
	Amount      *int64 // minor units of Currency
	Currency    string
	ValidFrom   *time.Time
	ValidUntil  *time.Time
	MaxUses     *int32 // nil: no limit
	Uses        int32
	Disabled    bool
	Events      []id.Event // empty: all
	Version     int64
	CreatedAt   time.Time
	UpdatedAt   time.Time

	NewUses int32 // uses by the orders granted so far
}

// IsDiscountCode reports whether text has the form of a discount code.
func IsDiscountCode(text string) bool {
	return len(text) >= 1 && len(text) <= 64 && strings.Trim(text, codeCharacters) == ""
}

const codeCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// Check reports the faults of a new code, except those of its events (CheckEvents).
func (c *DiscountCode) Check(faults *check.Fields) {
	if !IsDiscountCode(c.Code) {
		faults.Add("code", "format", "must be 1 to 64 letters, digits, - or _")
	}
	switch {
	case c.BasisPoints == nil && c.Amount == nil:
		faults.Add("basis_points", "required", "or amount is required")
	case c.BasisPoints != nil && (*c.BasisPoints < 1 || *c.BasisPoints > 10_000):
		faults.Add("basis_points", "range", "must be 1 to 10000")
	case c.Amount != nil && (*c.Amount < 1 || *c.Amount > MaxPrice):
		faults.Add("amount", "range", "must be 1 or more minor units")
	}
	if c.Amount != nil {
		faults.OneOf("currency", c.Currency, money.Currencies())
	}
	c.CheckUse(faults)
}

// CheckUse checks the fields that can also be changed later.
func (c *DiscountCode) CheckUse(faults *check.Fields) {
	if c.ValidFrom != nil && c.ValidUntil != nil && !c.ValidUntil.After(*c.ValidFrom) {
		faults.Add("valid_until", "min", "must be after valid_from")
	}
	if c.MaxUses != nil && *c.MaxUses < max(1, c.Uses) {
		faults.Add("max_uses", "min", "must be 1 or more, and not below the uses so far")
	}
}

// refuses returns why the code cannot be used now; nil if it can.
func (c *DiscountCode) refuses(now time.Time) *fault.Error {
	switch {
	case c.Disabled:
		return invalidDiscount("disabled", "the discount code is disabled")
	case c.ValidFrom != nil && now.Before(*c.ValidFrom):
		return invalidDiscount("not_yet_valid", "the discount code is not valid yet")
	case c.ValidUntil != nil && !now.Before(*c.ValidUntil):
		return invalidDiscount("expired", "the discount code has expired")
	case c.MaxUses != nil && c.Uses+c.NewUses >= *c.MaxUses:
		return invalidDiscount("used_up", "the discount code has reached its maximum number of uses")
	}
	return nil
}

func invalidDiscount(why, message string) *fault.Error {
	return fault.Refuse(ReasonDiscountInvalid, message).With("why", why)
}

// refuseDiscount refuses a discount code in a payment that has no price to lower.
func refuseDiscount(m Method) error {
	switch m {
	case Pass:
		return invalidDiscount("method", "a discount code cannot be used with payment by pass: pay by another method or omit the code")
	case Free:
		return invalidDiscount("method", "a discount code cannot be used with the method FREE: omit the code")
	}
	return nil
}

// shareOf returns a share of a price in basis points, rounded half up.
func shareOf(gross int64, basisPoints int32) int64 {
	return (2*gross*int64(basisPoints) + 10_000) / 20_000
}

// DiscountCodeTaken is the fault of a code that already exists.
func DiscountCodeTaken() *fault.Error {
	return fault.InvalidFields(fault.Field{Field: "code", Rule: "unique", Message: "already exists"})
}

// CheckEvents refuses a code with events that do not exist.
func (c *DiscountCode) CheckEvents(existing []id.Event) error {
	known := make(map[id.Event]bool, len(existing))
	for _, event := range existing {
		known[event] = true
	}
	var faults check.Fields
	for i, event := range c.Events {
		if !known[event] {
			faults.Add(fmt.Sprintf("event_ids[%d]", i), "exists", "does not exist")
		}
	}
	return faults.Err()
}
