package booking

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

// ReasonDiscountInvalid is a discount code that does not count; its fact "why"
// says which condition it fails.
const ReasonDiscountInvalid = "DISCOUNT_INVALID"

// discountCode lowers the price of a transaction, by a share of every line or by
// an amount off all of them together.
type discountCode struct {
	ID          id.DiscountCode
	Code        string // as it was written
	BasisPoints *int32
	Amount      *int64 // minor units of Currency
	Currency    string
	ValidFrom   *time.Time
	ValidUntil  *time.Time
	MaxUses     *int32 // nil: any number
	Uses        int32
	Disabled    bool
	Events      []id.Event // none: all
	Version     int64
	CreatedAt   time.Time
	UpdatedAt   time.Time

	takes int32 // uses by the orders decided so far
}

var codeFormat = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// check adds every fault of a code to be made; its events are checked apart.
func (c *discountCode) check(faults *fields) {
	if !codeFormat.MatchString(c.Code) {
		faults.add("code", "format", "must be 1 to 64 letters, digits, - or _")
	}
	switch {
	case c.BasisPoints == nil && c.Amount == nil:
		faults.add("basis_points", "required", "or amount is required")
	case c.BasisPoints != nil && (*c.BasisPoints < 1 || *c.BasisPoints > 10_000):
		faults.add("basis_points", "range", "must be 1 to 10000")
	case c.Amount != nil && (*c.Amount < 1 || *c.Amount > maxPrice):
		faults.add("amount", "range", "must be 1 or more minor units")
	}
	if c.Amount != nil && !isCurrency(c.Currency) {
		faults.add("currency", "enum", "must be GBP, EUR or USD")
	}
	c.checkUse(faults)
}

// checkUse checks what may also be changed later.
func (c *discountCode) checkUse(faults *fields) {
	if c.ValidFrom != nil && c.ValidUntil != nil && !c.ValidUntil.After(*c.ValidFrom) {
		faults.add("valid_until", "min", "must be after valid_from")
	}
	if c.MaxUses != nil && *c.MaxUses < max(1, c.Uses) {
		faults.add("max_uses", "min", "must be 1 or more, and not below the uses so far")
	}
}

// refuses says why a code cannot be used now; nil: it can.
func (c *discountCode) refuses(now time.Time) *fault.Error {
	switch {
	case c.Disabled:
		return invalidDiscount("disabled", "the discount code is disabled")
	case c.ValidFrom != nil && now.Before(*c.ValidFrom):
		return invalidDiscount("not_yet_valid", "the discount code is not valid yet")
	case c.ValidUntil != nil && !now.Before(*c.ValidUntil):
		return invalidDiscount("expired", "the discount code has expired")
	case c.MaxUses != nil && c.Uses+c.takes >= *c.MaxUses:
		return invalidDiscount("used_up", "the discount code has been used as often as it may")
	}
	return nil
}

func invalidDiscount(why, message string) *fault.Error {
	return fault.Refuse(ReasonDiscountInvalid, message).With("why", why)
}

// discount lowers the prices of an order's bookings by its code, and counts a use.
//
// A share is taken of every line, rounded half up to the minor unit. An amount is
// taken off the lines in their order, never below 0. The net price is made of what
// is left, as it is without a discount.
func (of *offer) discount(o *order, bookings []Booking, now time.Time) error {
	if o.code == "" {
		return nil
	}
	c := of.codes[strings.ToLower(o.code)]
	if c == nil {
		return invalidDiscount("unknown", "the discount code does not exist")
	}
	if refusal := c.refuses(now); refusal != nil {
		return refusal
	}
	lowered, foreign := false, false
	var left int64
	if c.Amount != nil {
		left = *c.Amount
	}
	for i := range bookings {
		b := &bookings[i]
		if len(c.Events) > 0 && !slices.Contains(c.Events, b.Date.Event) {
			continue
		}
		if c.Amount != nil && b.Payment.Currency != c.Currency {
			foreign = true
			continue
		}
		lowered = true
		off := min(left, b.Payment.Gross)
		if c.BasisPoints != nil {
			off = shareOf(b.Payment.Gross, *c.BasisPoints)
		} else {
			left -= off
		}
		b.Payment.Discount, b.Payment.Code = off, c.Code
		b.Payment.Gross -= off
		b.Payment.Net = netOf(b.Payment.Gross, of.taxRate(b))
	}
	switch {
	case lowered:
	case foreign:
		return invalidDiscount("currency", "the discount code is an amount in another currency than the price").With("currency", c.Currency)
	default:
		return invalidDiscount("not_applicable", "the discount code is not for any of these bookings")
	}
	c.takes++
	return nil
}

// taxRate is that of the pricing option of a booking that was granted.
func (of *offer) taxRate(b *Booking) int32 {
	for _, o := range of.options[b.Date.Event] {
		if o.ID == b.Option {
			return o.TaxRate
		}
	}
	return 0
}

// shareOf is so many basis points of a price, rounded half up.
func shareOf(gross int64, basisPoints int32) int64 {
	return (2*gross*int64(basisPoints) + 10_000) / 20_000
}

const (
	discountColumns = `id, code, basis_points, amount, coalesce(currency, ''), valid_from, valid_until, max_uses, uses, disabled,
		event_ids, version, created_at, updated_at`

	lockCodesSQL = `select ` + discountColumns + ` from discount_codes
		where company_id = $1 and lower(code) = any($2) order by id for no key update`

	// The table's CHECK repeats what was decided under the lock.
	countUsesSQL = `update discount_codes c set uses = c.uses + n.uses from unnest($2::uuid[], $3::integer[]) n(id, uses)
		where c.company_id = $1 and c.id = n.id`
)

func (c *discountCode) scan(rows pgx.Rows) error {
	return rows.Scan(&c.ID, &c.Code, &c.BasisPoints, &c.Amount, &c.Currency, &c.ValidFrom, &c.ValidUntil, &c.MaxUses, &c.Uses,
		&c.Disabled, &c.Events, &c.Version, &c.CreatedAt, &c.UpdatedAt)
}

// lockCodes returns the query that locks codes and adds them to the offer. Codes
// are locked after dates.
func (of *offer) lockCodes(company id.Company, codes []string) pg.Query {
	return pg.Query{SQL: lockCodesSQL, Args: []any{company, codes}, Scan: each(func(rows pgx.Rows) error {
		var c discountCode
		if err := c.scan(rows); err != nil {
			return err
		}
		of.codes[strings.ToLower(c.Code)] = &c
		return nil
	})}
}

// countUses returns the statement that counts the uses of the offer's codes.
func (of *offer) countUses(company id.Company) []pg.Query {
	var ids []id.DiscountCode
	var uses []int32
	for _, c := range of.codes {
		if c.takes > 0 {
			ids, uses = append(ids, c.ID), append(uses, c.takes)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return []pg.Query{{SQL: countUsesSQL, Args: []any{company, ids, uses}}}
}
