package reservectl

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/customerfile"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/money"
	"reservation.dev/platform/zone"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// transactionLine is a purchase in a file. It has the format of Interface A, with references
// instead of identifiers.
type transactionLine struct {
	Reference    string        `json:"reference"`
	ID           string        `json:"id"`
	Customer     string        `json:"customer"`
	PurchaseDate string        `json:"purchase_date"`
	Bookings     []bookingLine `json:"bookings"`
}

type bookingLine struct {
	Spaces      *int32 `json:"spaces"`
	IsCancelled bool   `json:"is_cancelled"`
	IsRefunded  bool   `json:"is_refunded"`
	BoughtFor   string `json:"bought_for"`
	Event       struct {
		Reference string `json:"reference"`
		ID        string `json:"id"`
		Name      string `json:"name"`
		Type      string `json:"type"`
		Date      struct {
			ID       string `json:"id"`
			Datetime string `json:"datetime"`
			TZ       string `json:"tz"`
			Duration int32  `json:"duration"`
			Capacity *int32 `json:"capacity"`
		} `json:"date"`
	} `json:"event"`
	PricingOption struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"pricing_option"`
	Payment paymentLine `json:"payment"`
}

type paymentLine struct {
	Method         string `json:"method"`
	Currency       string `json:"currency"`
	Gross          int64  `json:"base100gross_price"`
	Net            *int64 `json:"base100net_price"`
	Reference      string `json:"reference"`
	CreditsUsed    int32  `json:"credits_used"`
	CustomerPassID string `json:"customer_pass_id"`
}

// readTransactionLine reads a purchase from an NDJSON line, or a purchase with one booking from a
// CSV line.
func readTransactionLine(r record) (transactionLine, error) {
	var t transactionLine
	if r.csv == nil {
		err := r.decode(&t)
		if t.Reference == "" {
			t.Reference = t.ID
		}
		return t, err
	}
	t.Reference = r.get(transactionReference()...)
	t.Customer = r.get(customerColumn()...)
	t.PurchaseDate = r.get("purchasedate", "purchasedat")
	cells := csvCells{record: r}
	var b bookingLine
	spaces := int32(cells.integer(1, math.MaxInt32, "spaces"))
	b.Spaces = &spaces
	b.IsCancelled, b.IsRefunded = cells.boolean("iscancelled"), cells.boolean("isrefunded")
	b.BoughtFor = r.get("boughtfor", "boughtforid")
	b.Event.Reference, b.Event.Name, b.Event.Type = r.get("eventreference", "eventid"), r.get("eventname", "event", "eventtitle"), r.get("eventtype")
	date := &b.Event.Date
	date.ID, date.Datetime, date.TZ = r.get("eventdateid"), r.get("eventdate", "datetime"), r.get("tz", "timezone")
	date.Duration = int32(cells.integer(0, math.MaxInt32, "duration"))
	if r.get("capacity") != "" {
		capacity := int32(cells.integer(0, math.MaxInt32, "capacity"))
		date.Capacity = &capacity
	}
	b.PricingOption.ID, b.PricingOption.Name = r.get("pricingoptionid"), r.get("pricingoption", "pricingoptionname")
	p := &b.Payment
	p.Method, p.Currency = r.get("method", "paymentmethod"), r.get("currency")
	p.Gross = cells.integer(0, math.MaxInt64, "base100grossprice", "gross")
	if r.get("base100netprice", "net") != "" {
		net := cells.integer(0, math.MaxInt64, "base100netprice", "net")
		p.Net = &net
	}
	p.CreditsUsed = int32(cells.integer(0, math.MaxInt32, "creditsused"))
	p.CustomerPassID, p.Reference = r.get("customerpassid"), r.get("paymentreference")
	t.Bookings = []bookingLine{b}
	return t, cells.err
}

// csvCells reads typed cells of a CSV line and keeps the first refusal.
type csvCells struct {
	record record
	err    error
}

func (c *csvCells) integer(absent, most int64, names ...string) int64 {
	text := c.record.get(names...)
	if text == "" {
		return absent
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if c.err == nil && (err != nil || n < 0 || n > most) {
		c.err = refusal{names[0], "type", fmt.Sprintf("must be a whole number between 0 and %d", most)}
	}
	return n
}

func (c *csvCells) boolean(name string) bool {
	text := c.record.get(name)
	if text == "" {
		return false
	}
	v, err := strconv.ParseBool(strings.ToLower(text))
	if c.err == nil && err != nil {
		c.err = refusal{name, "type", "must be true or false"}
	}
	return v
}

// convert returns the message of a purchase. local is the company's zone.
func (t transactionLine) convert(local *time.Location) (*bookingv1.ImportedTransaction, error) {
	out := &bookingv1.ImportedTransaction{Reference: t.Reference, Customer: t.Customer}
	at, err := customerfile.Moment(t.PurchaseDate, local)
	if err != nil {
		return out, refusal{"purchase_date", "format", err.Error()}
	}
	out.PurchasedAt = timestamppb.New(at)
	for i := range t.Bookings {
		b, err := t.Bookings[i].convert(local)
		if err != nil {
			return out, err
		}
		out.Bookings = append(out.Bookings, b)
	}
	return out, nil
}

func (b *bookingLine) convert(local *time.Location) (*bookingv1.ImportedBooking, error) {
	out := &bookingv1.ImportedBooking{
		Spaces: 1, IsCancelled: b.IsCancelled, IsRefunded: b.IsRefunded, BoughtFor: b.BoughtFor,
		PricingOptionId: b.PricingOption.ID, PricingOptionName: b.PricingOption.Name,
	}
	if b.Spaces != nil {
		out.Spaces = *b.Spaces
	}
	if b.Event.Date.ID != "" {
		out.Date = &bookingv1.ImportedBooking_EventDateId{EventDateId: b.Event.Date.ID}
	} else {
		date, err := b.date(local)
		if err != nil {
			return out, err
		}
		out.Date = &bookingv1.ImportedBooking_ImportedDate{ImportedDate: date}
	}
	return out, b.Payment.set(out)
}

// set stores the payment in the message of a booking.
func (p *paymentLine) set(out *bookingv1.ImportedBooking) error {
	method := strings.ToUpper(p.Method)
	switch {
	case method == money.MethodPass:
		out.Payment = &bookingv1.ImportedBooking_Pass{Pass: &bookingv1.PassPayment{CreditsUsed: p.CreditsUsed, CustomerPassId: p.CustomerPassID}}
	case slices.Contains(money.BookingMethods(), method):
		net := p.Gross
		if p.Net != nil {
			net = *p.Net
		}
		out.Payment = &bookingv1.ImportedBooking_Card{Card: &bookingv1.CardPayment{
			Currency: p.Currency, Gross: p.Gross, Net: net, Reference: p.Reference,
			Method: bookingv1.PaymentMethod(bookingv1.PaymentMethod_value["PAYMENT_METHOD_"+method]),
		}}
	default:
		return refusal{"payment.method", "enum", fault.OneOf(money.BookingMethods())}
	}
	return nil
}

// date returns the description of the booking's event and date.
func (b *bookingLine) date(local *time.Location) (*bookingv1.ImportedDate, error) {
	e := &b.Event
	out := &bookingv1.ImportedDate{
		EventReference: e.Reference, Title: e.Name, Timezone: e.Date.TZ, DurationMinutes: e.Date.Duration, Capacity: e.Date.Capacity,
	}
	if out.EventReference == "" {
		out.EventReference = e.ID
	}
	if out.EventReference == "" { // some systems export the names of events only
		out.EventReference = e.Name
	}
	if e.Type != "" {
		kind, ok := bookingv1.EventType_value["EVENT_TYPE_"+strings.ToUpper(e.Type)]
		if !ok || kind == 0 {
			return nil, refusal{"event.type", "enum", "must be class, event, workshop, course or appointment"}
		}
		out.Type = bookingv1.EventType(kind)
	}
	if e.Date.TZ != "" {
		loc, err := zone.Load(e.Date.TZ)
		if err != nil {
			return nil, refusal{"event.date.tz", "timezone", "must be an IANA time zone"}
		}
		local = loc
	}
	at, err := customerfile.Moment(e.Date.Datetime, local)
	if err != nil {
		return nil, refusal{"event.date.datetime", "format", err.Error()}
	}
	out.StartsAt = timestamppb.New(at)
	return out, nil
}
