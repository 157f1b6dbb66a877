package webhook

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/jsontext"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// Payment methods, as payloads have them.
const (
	methodCard = "CARD"
	methodFree = "FREE"
	methodPass = "PASS"
)

// message is what endpoints are told of one event.
type message struct {
	ID         id.WebhookMessage
	Company    id.Company
	Event      string
	OccurredAt time.Time
	Body       []byte
	Customer   id.Customer // whom it is about; zero: nobody
	Trace      cause
}

// messageID is the identifier of the message that an event of the platform
// makes: always the same one. An event that makes two of them (what is booked is
// both a registration and a purchase) keeps its own for the first.
func messageID(event id.UUID, name string) id.WebhookMessage {
	if name != eventEventPurchased {
		return id.WebhookMessage(event)
	}
	sum := sha256.Sum256(append([]byte(name), event[:]...))
	out := event
	copy(out[6:], sum[:])
	out[6] = out[6]&0x0f | 0x70 // version 7
	out[8] = out[8]&0x3f | 0x80
	return id.WebhookMessage(out)
}

// newEnvelope is the JSON that is sent: data last, and after nothing that can
// contain its name (see dataOf).
func newEnvelope(message id.WebhookMessage, event string, at time.Time, test bool, data []byte) []byte {
	b := make([]byte, 0, len(data)+160)
	b = append(append(b, `{"id":"`...), message.String()...)
	b = append(append(b, `","event":"`...), event...)
	b = appendInstant(append(b, `","timestamp":`...), at)
	if test {
		b = append(b, `,"test":true`...)
	}
	b = append(append(b, dataMember...), data...)
	return append(b, '}')
}

// object writes the members of a JSON object one after the other.
type object struct{ b []byte }

func (o *object) name(name string) {
	if len(o.b) == 0 {
		o.b = append(o.b, '{')
	} else {
		o.b = append(o.b, ',')
	}
	o.b = append(jsontext.AppendString(o.b, name), ':')
}

func (o *object) text(name, value string) {
	o.name(name)
	o.b = jsontext.AppendString(o.b, value)
}

// textOrNull writes null for "".
func (o *object) textOrNull(name, value string) {
	if value != "" {
		o.text(name, value)
		return
	}
	o.name(name)
	o.b = append(o.b, "null"...)
}

func (o *object) number(name string, value int64) {
	o.name(name)
	o.b = strconv.AppendInt(o.b, value, 10)
}

// amount writes minor units as a decimal number of major units: 25, 12.5, 0.05.
func (o *object) amount(name string, minor int64) {
	o.name(name)
	if minor < 0 {
		o.b, minor = append(o.b, '-'), -minor
	}
	o.b = strconv.AppendInt(o.b, minor/100, 10)
	switch cents := minor % 100; {
	case cents == 0:
	case cents%10 == 0:
		o.b = append(o.b, '.', '0'+byte(cents/10))
	default:
		o.b = append(o.b, '.', '0'+byte(cents/10), '0'+byte(cents%10))
	}
}

func (o *object) instant(name string, at time.Time) {
	o.name(name)
	o.b = appendInstant(o.b, at)
}

func (o *object) end() []byte { return append(o.b, '}') }

// appendInstant writes ISO 8601 in UTC, to the second.
func appendInstant(b []byte, at time.Time) []byte {
	b = append(b, '"')
	b = at.UTC().AppendFormat(b, "2006-01-02T15:04:05Z")
	return append(b, '"')
}

// person is a customer as payloads have them.
type person struct{ id, firstName, lastName, email string }

func (o *object) person(p person) {
	o.text("customerId", p.id)
	o.text("customerEmail", p.email)
	o.text("customerName", strings.TrimSpace(p.firstName+" "+p.lastName))
}

func personOf(c *bookingv1.CustomerReference) person {
	return person{c.GetId(), c.GetFirstName(), c.GetLastName(), c.GetEmail()}
}

// publicID is an identifier behind the prefix that webhooks have for it.
func publicID(prefix, identifier string) string {
	if i := strings.LastIndexByte(identifier, '_'); i >= 0 {
		identifier = identifier[i+1:]
	}
	return prefix + identifier
}

// payment is what a booking cost.
type payment struct {
	method, currency, pass, discount string
	gross                            int64 // minor units
}

// paymentOf reads how a booking was paid. With a pass nothing is paid, in the
// company's currency.
func paymentOf(b *bookingv1.Booking, companyCurrency string) (payment, error) {
	switch p := b.GetPayment().(type) {
	case *bookingv1.Booking_Card:
		return payment{method: methodCard, currency: p.Card.GetCurrency(), gross: p.Card.GetGross(), discount: p.Card.GetDiscountCode()}, nil
	case *bookingv1.Booking_Pass:
		return payment{method: methodPass, currency: companyCurrency, pass: p.Pass.GetCustomerPassId()}, nil
	}
	return payment{}, fmt.Errorf("booking %s has no payment", b.GetId())
}

// registrationCreated is the data of registration.created. The customer is whom
// the places are for, as Interface B has it.
func registrationCreated(s *bookingv1.BookingSnapshot, companyCurrency string) ([]byte, error) {
	b := s.GetBooking()
	paid, err := paymentOf(b, companyCurrency)
	if err != nil {
		return nil, err
	}
	who := personOf(s.GetPurchaser())
	if b.GetBoughtFor() != nil {
		who = personOf(b.GetBoughtFor())
	}
	var o object
	o.text("registrationId", publicID("reg_", b.GetId()))
	o.person(who)
	o.text("eventId", b.GetEventId())
	o.text("eventTitle", b.GetEventTitle())
	o.instant("eventDate", b.GetStartsAt().AsTime())
	o.number("spots", int64(b.GetSpaces()))
	o.amount("totalPaid", paid.gross)
	o.text("currency", paid.currency)
	o.text("paymentMethod", paid.method)
	o.textOrNull("passUsed", paid.pass)
	return o.end(), nil
}

// isEventPurchase reports whether a booking also makes event.purchased: a one-off
// event or a workshop, by card.
func isEventPurchase(b *bookingv1.Booking) bool {
	oneOff := b.GetEventType() == bookingv1.EventType_EVENT_TYPE_EVENT || b.GetEventType() == bookingv1.EventType_EVENT_TYPE_WORKSHOP
	return oneOff && b.GetCard() != nil
}

// eventPurchased is the data of event.purchased. The customer is who bought.
func eventPurchased(s *bookingv1.BookingSnapshot) []byte {
	b := s.GetBooking()
	var o object
	o.text("purchaseId", publicID("pur_", b.GetId()))
	o.person(personOf(s.GetPurchaser()))
	o.text("eventId", b.GetEventId())
	o.text("eventTitle", b.GetEventTitle())
	o.instant("eventDate", b.GetStartsAt().AsTime())
	o.number("tickets", int64(b.GetSpaces()))
	o.amount("totalPaid", b.GetCard().GetGross())
	o.text("currency", b.GetCard().GetCurrency())
	o.text("paymentMethod", methodCard)
	o.textOrNull("discountCode", b.GetCard().GetDiscountCode())
	return o.end()
}

// passPurchased is the data of pass.purchased. A pass that is given away costs 0
// and is paid by the method FREE.
func passPurchased(p *passv1.CustomerPass, t *passv1.PassType, who person) []byte {
	paid, currency, method := int64(0), t.GetCurrency(), methodFree
	if bought := p.GetPurchase(); bought != nil {
		paid, currency, method = bought.GetGross(), bought.GetCurrency(), bought.GetMethod()
	}
	who.id = p.GetCustomerId()
	var o object
	o.text("customerPassId", p.GetId())
	o.person(who)
	o.text("passId", p.GetPassTypeId())
	o.text("passTitle", t.GetTitle())
	o.number("totalUses", int64(t.GetTotalUses()))
	o.number("remainingUses", int64(p.GetRemainingUses()))
	o.text("startDate", p.GetStartDate())
	o.text("expiryDate", p.GetExpiryDate())
	o.amount("totalPaid", paid)
	o.text("currency", currency)
	o.text("paymentMethod", method)
	return o.end()
}
