package booking

import (
	"fmt"
	"time"

	"reservation.dev/platform/check"
	"reservation.dev/platform/id"
	"reservation.dev/platform/money"
)

const (
	// maxImportBookings bounds the bookings of one imported transaction.
	maxImportBookings = 100
	maxReference      = 200
	maxImportSpaces   = 100_000
	// maxAmount is the most that one imported booking may have cost.
	maxAmount = maxPrice * maxSpaces

	// importedOption is the name of the pricing option of an imported booking
	// that names none.
	importedOption = "Imported"
)

// imported is a purchase that an earlier system recorded.
type imported struct {
	reference   string
	customer    string // a cust_ identifier or a customer's reference
	purchasedAt time.Time
	bookings    []importedBooking
}

type importedBooking struct {
	spaces    int32
	cancelled bool
	refunded  bool
	boughtFor string // as customer; "": the purchaser

	// Either a date that exists or one that is described.
	dateID    string
	described *describedDate

	optionID   string // "": by name
	optionName string
	payment    Payment
	passID     string // "": not said

	// What check read.
	date   id.EventDate
	option id.PricingOption
}

// describedDate is an event and its date in an earlier system.
type describedDate struct {
	eventReference string
	title          string
	eventType      EventType
	startsAt       time.Time
	timezone       string
	minutes        int32
	capacity       *int32
}

// refusal is why one imported transaction is not stored.
type refusal struct{ field, rule, message string }

func refuse(field, rule, phrase string) *refusal {
	return &refusal{field: field, rule: rule, message: field + " " + phrase}
}

// check returns what is wrong with t as it stands, or nil. It also reads the
// identifiers that t names.
func (t *imported) check() *refusal {
	var faults check.Fields
	faults.Line("reference", t.reference, 1, maxReference)
	faults.Line("customer", t.customer, 1, maxReference)
	faults.Instant("purchased_at", t.purchasedAt)
	if faults.Count("bookings", len(t.bookings), 1, maxImportBookings) {
		for i := range t.bookings {
			t.bookings[i].check(&faults, fmt.Sprintf("bookings[%d].", i))
			if faults.Len() > 0 {
				break // the first one is said
			}
		}
	}
	if faults.Len() == 0 {
		return nil
	}
	first := faults.List()[0]
	return refuse(first.Field, first.Rule, first.Message)
}

func (b *importedBooking) check(faults *check.Fields, at string) {
	faults.Range(at+"spaces", int64(b.spaces), 1, maxImportSpaces)
	faults.Line(at+"bought_for", b.boughtFor, 0, maxReference)
	switch {
	case b.described != nil:
		b.described.check(faults, at+"imported_date.")
	case b.dateID == "":
		faults.Add(at+"date", "required", "is required")
	default:
		var err error
		if b.date, err = id.Parse[id.EventDate](b.dateID); err != nil {
			faults.Add(at+"event_date_id", "exists", "does not exist")
		}
	}
	if b.optionID != "" {
		var err error
		if b.option, err = id.Parse[id.PricingOption](b.optionID); err != nil {
			faults.Add(at+"pricing_option_id", "exists", "does not exist")
		}
	}
	faults.Line(at+"pricing_option_name", b.optionName, 0, maxOptionName)
	b.checkPayment(faults, at)
}

func (b *importedBooking) checkPayment(faults *check.Fields, at string) {
	switch p := b.payment; p.Method {
	case Card:
		faults.OneOf(at+"card.currency", p.Currency, money.Currencies())
		if p.Gross < 0 || p.Gross > maxAmount {
			faults.Add(at+"card.gross", "range", fmt.Sprintf("must be 0 to %d minor units", int64(maxAmount)))
		}
		if p.Net < 0 || p.Net > p.Gross {
			faults.Add(at+"card.net", "range", "must be 0 to the gross price")
		}
		faults.Line(at+"card.reference", p.Reference, 0, maxPaymentReference)
	case Pass:
		if p.Credits < 0 {
			faults.Add(at+"pass.credits_used", "min", "must be 0 or more")
		}
		if b.passID == "" {
			return
		}
		var err error
		if b.payment.CustomerPass, err = id.Parse[id.CustomerPass](b.passID); err != nil {
			faults.Add(at+"pass.customer_pass_id", "format", "must be a cp_ identifier")
		}
	default:
		faults.Add(at+"payment", "required", "is required")
	}
}

func (d *describedDate) check(faults *check.Fields, at string) {
	faults.Line(at+"event_reference", d.eventReference, 1, maxReference)
	faults.Line(at+"title", d.title, 1, maxTitle)
	if d.eventType == "" {
		faults.Add(at+"type", "enum", "is not a type of event")
	}
	faults.Instant(at+"starts_at", d.startsAt)
	faults.Timezone(at+"timezone", d.timezone)
	faults.Range(at+"duration_minutes", int64(d.minutes), 1, maxMinutes)
	if d.capacity != nil && *d.capacity < 0 {
		faults.Add(at+"capacity", "min", "must be 0 or more")
	}
}
