package booking

import (
	"fmt"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/zone"
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
	var faults fields
	faults.text("reference", t.reference, 1, maxReference)
	faults.text("customer", t.customer, 1, maxReference)
	faults.moment("purchased_at", t.purchasedAt)
	if faults.count("bookings", len(t.bookings), 1, maxImportBookings) {
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

func (b *importedBooking) check(faults *fields, at string) {
	if b.spaces < 1 || b.spaces > maxImportSpaces {
		faults.add(at+"spaces", "range", fmt.Sprintf("must be 1 to %d", maxImportSpaces))
	}
	faults.text(at+"bought_for", b.boughtFor, 0, maxReference)
	switch {
	case b.described != nil:
		b.described.check(faults, at+"imported_date.")
	case b.dateID == "":
		faults.add(at+"date", "required", "is required")
	default:
		var err error
		if b.date, err = id.Parse[id.EventDate](b.dateID); err != nil {
			faults.add(at+"event_date_id", "exists", "does not exist")
		}
	}
	if b.optionID != "" {
		var err error
		if b.option, err = id.Parse[id.PricingOption](b.optionID); err != nil {
			faults.add(at+"pricing_option_id", "exists", "does not exist")
		}
	}
	faults.text(at+"pricing_option_name", b.optionName, 0, maxOptionName)
	b.checkPayment(faults, at)
}

func (b *importedBooking) checkPayment(faults *fields, at string) {
	switch p := b.payment; p.Method {
	case Card:
		if !isCurrency(p.Currency) {
			faults.add(at+"card.currency", "enum", "must be GBP, EUR or USD")
		}
		if p.Gross < 0 || p.Gross > maxAmount {
			faults.add(at+"card.gross", "range", fmt.Sprintf("must be 0 to %d minor units", int64(maxAmount)))
		}
		if p.Net < 0 || p.Net > p.Gross {
			faults.add(at+"card.net", "range", "must be 0 to the gross price")
		}
		faults.text(at+"card.reference", p.Reference, 0, maxPaymentReference)
	case Pass:
		if p.Credits < 0 {
			faults.add(at+"pass.credits_used", "min", "must be 0 or more")
		}
		if b.passID == "" {
			return
		}
		var err error
		if b.payment.CustomerPass, err = id.Parse[id.CustomerPass](b.passID); err != nil {
			faults.add(at+"pass.customer_pass_id", "format", "must be a cp_ identifier")
		}
	default:
		faults.add(at+"payment", "required", "is required")
	}
}

func (d *describedDate) check(faults *fields, at string) {
	faults.text(at+"event_reference", d.eventReference, 1, maxReference)
	faults.text(at+"title", d.title, 1, maxTitle)
	if d.eventType == "" {
		faults.add(at+"type", "enum", "is not a type of event")
	}
	faults.moment(at+"starts_at", d.startsAt)
	if _, err := zone.Load(d.timezone); err != nil {
		faults.add(at+"timezone", "timezone", "must be an IANA time zone such as Europe/London")
	}
	if d.minutes < 1 || d.minutes > maxMinutes {
		faults.add(at+"duration_minutes", "range", fmt.Sprintf("must be 1 to %d", maxMinutes))
	}
	if d.capacity != nil && *d.capacity < 0 {
		faults.add(at+"capacity", "min", "must be 0 or more")
	}
}
