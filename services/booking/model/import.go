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

	// The identifier of an existing date, a description of a date, or the names of a date that must exist.
	DateID    string
	Described *DescribedDate
	Named     *NamedDate

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

// NamedDate names a date that must exist by its identifier, or else by its event and start.
type NamedDate struct {
	ID       string // "": not given
	Title    string // "": not given
	StartsAt time.Time
}

// key returns the names by which the date is looked up without its identifier.
func (d *NamedDate) key() DateName { return DateName{d.Title, d.StartsAt.Unix()} }

// DateName is the title of an event, and the start of a date in seconds.
type DateName struct {
	Title  string
	Second int64
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
	case b.Named != nil:
		b.checkNamed(faults, at+"existing_date.")
	case b.DateID == "":
		faults.Add(at+"date", "required", "is required")
	default:
		var err error
		if b.Date, err = id.Parse[id.EventDate](b.DateID); err != nil {
			faults.Add(at+"event_date_id", "exists", "does not exist")
		}
	}
	if b.OptionID != "" && b.Named == nil {
		var err error
		if b.option, err = id.Parse[id.PricingOption](b.OptionID); err != nil {
			faults.Add(at+"pricing_option_id", "exists", "does not exist")
		}
	}
	faults.Line(at+"pricing_option_name", b.OptionName, 0, maxOptionName)
	b.checkPayment(faults, at)
}

// checkNamed checks the names of a date. An identifier that is none counts as one of another company.
func (b *ImportedBooking) checkNamed(faults *check.Fields, at string) {
	b.Date, _ = id.Parse[id.EventDate](b.Named.ID)
	b.option, _ = id.Parse[id.PricingOption](b.OptionID)
	switch {
	case b.Named.Title != "":
		faults.Line(at+"title", b.Named.Title, 1, maxTitle)
		faults.Instant(at+"starts_at", b.Named.StartsAt)
	case b.Named.ID == "":
		faults.Add(at+"title", "required", "is required without event_date_id")
	case b.Date.IsZero():
		faults.Add(at+"event_date_id", "exists", "does not exist")
	}
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
