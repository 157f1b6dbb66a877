package model

import (
	"fmt"
	"time"

	"reservation.dev/platform/check"
	"reservation.dev/platform/id"
	"reservation.dev/platform/money"
)

const (
	// maxImportBookings is the maximum number of bookings in one imported transaction.
	maxImportBookings = 100
	maxReference      = 200
	maxImportSpaces   = 100_000
	// maxAmount is the maximum price of one imported booking.
	maxAmount = MaxPrice * MaxSpaces

	// importedOption is the name of the pricing option of an imported booking that does not give
	// one.
	importedOption = "Imported"
)

// ImportedTransaction is a purchase recorded by an earlier system.
type ImportedTransaction struct {
	Reference   string
	Customer    string // a cust_ identifier or a customer's reference
	PurchasedAt time.Time
	Bookings    []ImportedBooking
}

// ImportedBooking is a booking of a purchase recorded by an earlier system.
type ImportedBooking struct {
	Spaces    int32
	Cancelled bool
	Refunded  bool
	BoughtFor string // in the form of Customer; "": the purchaser

	// Either the identifier of an existing date or a description of a date.
	DateID    string
	Described *DescribedDate

	OptionID   string // "": looked up by name
	OptionName string
	Payment    Payment
	PassID     string // "": not given

	// Set by Check.
	Date   id.EventDate
	option id.PricingOption
}

// DescribedDate describes an event and its date in an earlier system.
type DescribedDate struct {
	EventReference string
	Title          string
	EventType      EventType
	StartsAt       time.Time
	Timezone       string
	Minutes        int32
	Capacity       *int32
}

// ImportRefusal is the reason why an imported transaction is not stored.
type ImportRefusal struct{ Field, Rule, Message string }

func refuse(field, rule, phrase string) *ImportRefusal {
	return &ImportRefusal{Field: field, Rule: rule, Message: field + " " + phrase}
}

// Check returns the first fault of t that does not depend on stored data, or nil. It also parses
// the identifiers in t.
func (t *ImportedTransaction) Check() *ImportRefusal {
	var faults check.Fields
	faults.Line("reference", t.Reference, 1, maxReference)
	faults.Line("customer", t.Customer, 1, maxReference)
	faults.Instant("purchased_at", t.PurchasedAt)
	if faults.Count("bookings", len(t.Bookings), 1, maxImportBookings) {
		for i := range t.Bookings {
			t.Bookings[i].check(&faults, fmt.Sprintf("bookings[%d].", i))
			if faults.Len() > 0 {
				break // the first fault is reported
			}
		}
	}
	if faults.Len() == 0 {
		return nil
	}
	first := faults.List()[0]
	return refuse(first.Field, first.Rule, first.Message)
}

func (b *ImportedBooking) check(faults *check.Fields, at string) {
	faults.Range(at+"spaces", int64(b.Spaces), 1, maxImportSpaces)
	faults.Line(at+"bought_for", b.BoughtFor, 0, maxReference)
	switch {
	case b.Described != nil:
		b.Described.check(faults, at+"imported_date.")
	case b.DateID == "":
		faults.Add(at+"date", "required", "is required")
	default:
		var err error
		if b.Date, err = id.Parse[id.EventDate](b.DateID); err != nil {
			faults.Add(at+"event_date_id", "exists", "does not exist")
		}
	}
	if b.OptionID != "" {
		var err error
		if b.option, err = id.Parse[id.PricingOption](b.OptionID); err != nil {
			faults.Add(at+"pricing_option_id", "exists", "does not exist")
		}
	}
	faults.Line(at+"pricing_option_name", b.OptionName, 0, maxOptionName)
	b.checkPayment(faults, at)
}

func (b *ImportedBooking) checkPayment(faults *check.Fields, at string) {
	switch p := b.Payment; p.Method {
	case "":
		faults.Add(at+"payment", "required", "is required")
	case Pass:
		if p.Credits < 0 {
			faults.Add(at+"pass.credits_used", "min", "must be 0 or more")
		}
		if b.PassID == "" {
			return
		}
		var err error
		if b.Payment.CustomerPass, err = id.Parse[id.CustomerPass](b.PassID); err != nil {
			faults.Add(at+"pass.customer_pass_id", "format", "must be a cp_ identifier")
		}
	default:
		checkMoney(faults, at+"card.", p)
	}
}

// checkMoney checks a payment that is not by pass.
func checkMoney(faults *check.Fields, at string, p Payment) {
	faults.OneOf(at+"method", string(p.Method), MoneyMethods())
	faults.OneOf(at+"currency", p.Currency, money.Currencies())
	most := int64(maxAmount)
	if p.Method == Free {
		most = 0
	}
	if p.Gross < 0 || p.Gross > most {
		faults.Add(at+"gross", "range", fmt.Sprintf("must be 0 to %d minor units", most))
	}
	if p.Net < 0 || p.Net > p.Gross {
		faults.Add(at+"net", "range", "must be 0 to the gross price")
	}
	faults.Line(at+"reference", p.Reference, 0, MaxPaymentReference)
}

func (d *DescribedDate) check(faults *check.Fields, at string) {
	faults.Line(at+"event_reference", d.EventReference, 1, maxReference)
	faults.Line(at+"title", d.Title, 1, maxTitle)
	if d.EventType == "" {
		faults.Add(at+"type", "enum", "is not an event type")
	}
	faults.Instant(at+"starts_at", d.StartsAt)
	faults.Timezone(at+"timezone", d.Timezone)
	faults.Range(at+"duration_minutes", int64(d.Minutes), 1, maxMinutes)
	if d.Capacity != nil && *d.Capacity < 0 {
		faults.Add(at+"capacity", "min", "must be 0 or more")
	}
}
