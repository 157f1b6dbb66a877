package admin

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"reservation.dev/platform/csvfile"
	"reservation.dev/platform/enum"
	"reservation.dev/platform/money"
	"reservation.dev/platform/zone"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// maxPurchaseRows is the largest number of bookings of one imported purchase.
const maxPurchaseRows = 100

// purchaseReference are the columns with the key of a purchase, which its bookings share.
func purchaseReference() []string { return []string{"reference", "transactionid", "id"} }

// bookingsImport imports the columns of the exports of transactions and of registrations.
func bookingsImport() importKind {
	columns := csvfile.Columns{
		Required: [][]string{
			purchaseReference(), {"purchaseremail", "email", "purchaserid", "customerid"}, {"purchasedat", "createdat"},
			{"event", "eventdateid"}, {"startsat", "startslocal", "eventdateid"}, {"method"},
		},
		Optional: []string{"pricingoptionid", "pricingoption", "customerpassid", "registrationid", "purchasedlocal", "purchasezone", "updatedat"},
	}
	for _, column := range bookingHeader() {
		if column == "attendance" || column == "discount" {
			continue // the page says that they are not imported
		}
		columns.Optional = append(columns.Optional, csvfile.Column(column))
	}
	return importKind{
		name: "bookings", columns: columns, run: runBookings,
		key: func(row csvfile.Row) string { return row.Get(purchaseReference()...) },
	}
}

func runBookings(run *importRun, res *importResult, refused func(refusedRow) error) error {
	stream, err := run.services.bookings.ImportTransactions(run.ctx)
	if err != nil {
		return err
	}
	steps := importSteps[*bookingv1.ImportedTransaction]{read: run.purchaseOf, resolve: run.resolvePurchases, end: stream.CloseSend}
	steps.send = func(things []*bookingv1.ImportedTransaction) ([]importOutcome, error) {
		answer, err := exchange(stream, &bookingv1.ImportTransactionsRequest{Transactions: things, DryRun: run.dryRun})
		if err != nil {
			return nil, err
		}
		outcomes := make([]importOutcome, len(answer.GetResults()))
		for i, r := range answer.GetResults() {
			outcomes[i] = importOutcome{int32(r.GetOutcome()), bookingRefusal(r.GetField(), r.GetMessage())}
		}
		return outcomes, nil
	}
	return importAll(run, steps, res, refused)
}

// nthBooking is the place of a booking in the name of a field.
var nthBooking = regexp.MustCompile(`^bookings\[(\d+)\]\.`)

// bookingColumn returns the column of a field of a purchase or booking.
func bookingColumn(field string) string {
	switch field {
	case "reference":
		return "transaction_id"
	case "card.reference":
		return "payment_reference"
	case "customer":
		return "purchaser_email"
	case "bought_for":
		return "email"
	case "existing_date", "existing_date.title":
		return "event"
	case "pricing_option_name":
		return "pricing_option"
	}
	return field[strings.LastIndexByte(field, '.')+1:]
}

// bookingRefusal returns why a purchase is refused, in terms of the file. The message of the service begins with the
// field, or is a sentence.
func bookingRefusal(field, message string) rowRefusal {
	why := rowRefusal{reason: message}
	if m := nthBooking.FindStringSubmatch(field); m != nil {
		why.row, _ = strconv.Atoi(m[1])
	}
	why.field = bookingColumn(strings.TrimPrefix(field, nthBooking.FindString(field)))
	if rest, named := strings.CutPrefix(message, field); named && field != "" {
		why.reason = why.field + rest
	}
	return why
}

// purchaseOf returns the purchase of rows, without its customers and passes.
func (run *importRun) purchaseOf(rows []csvfile.Row) (*bookingv1.ImportedTransaction, error) {
	if len(rows) > maxPurchaseRows {
		return nil, &rowRefusal{0, "transaction_id", fmt.Sprintf("a purchase can have at most %d bookings", maxPurchaseRows)}
	}
	first := &importCells{row: rows[0], zone: run.session.Clock.Zone}
	t := &bookingv1.ImportedTransaction{Reference: rows[0].Get(purchaseReference()...), PurchasedAt: first.moment("purchased_at", "created_at")}
	for n, row := range rows {
		cells := first
		if n > 0 {
			cells = &importCells{row: row, zone: run.session.Clock.Zone}
		}
		t.Bookings = append(t.Bookings, importedBookingOf(cells))
		if cells.failed != nil {
			return nil, &rowRefusal{n, cells.failed.Field, cells.failed.Error()}
		}
		if other := purchaserNamed(row); !other.isEmpty() && other != purchaserOf(rows) {
			return nil, &rowRefusal{n, "purchaser_email", "another purchaser than in the rows before: a purchase has one"}
		}
	}
	return t, nil
}

// importedBookingOf returns the booking of a row.
func importedBookingOf(c *importCells) *bookingv1.ImportedBooking {
	b := &bookingv1.ImportedBooking{Spaces: 1, PricingOptionId: c.text("pricing_option_id"), PricingOptionName: c.text("pricing_option")}
	if spaces := c.number("spaces"); spaces != nil {
		b.Spaces = *spaces
	}
	switch status := strings.ToLower(c.text("status")); status {
	case "", "booked":
	case "cancelled":
		b.IsCancelled = true
	default:
		c.refuse("status", "must be booked or cancelled")
	}
	b.Date = &bookingv1.ImportedBooking_ExistingDate{ExistingDate: dateOf(c)}
	setPayment(c, b)
	return b
}

// dateOf returns the names of the date of a row.
func dateOf(c *importCells) *bookingv1.ExistingDate {
	local := *c
	if name := c.text("zone"); name != "" {
		loaded, err := zone.Load(name)
		if err != nil {
			c.refuse("zone", "must be a time zone such as Europe/London")
			return nil
		}
		local.zone = loaded
	}
	d := &bookingv1.ExistingDate{EventDateId: c.text("event_date_id"), Title: c.text("event"), StartsAt: local.moment("starts_at", "starts_local")}
	if c.failed == nil {
		c.failed = local.failed
	}
	return d
}

// setPayment sets the payment of a booking. An import has no partial refunds.
func setPayment(c *importCells, b *bookingv1.ImportedBooking) {
	method, known := enum.Parse[bookingv1.PaymentMethod](strings.ToLower(c.text("method")))
	switch {
	case !known:
		c.refuse("method", "must be one of "+strings.Join(money.BookingMethods(), ", "))
		return
	case method == bookingv1.PaymentMethod_PAYMENT_METHOD_PASS:
		p := &bookingv1.PassPayment{CustomerPassId: c.text("customer_pass_id")}
		if credits := c.number("credits_used"); credits != nil {
			p.CreditsUsed = *credits
		}
		b.Payment = &bookingv1.ImportedBooking_Pass{Pass: p}
		return
	}
	paid := &bookingv1.CardPayment{
		Method: method, Currency: strings.ToUpper(c.text("currency")), Gross: c.amount("gross"), Net: c.amount("net"), Reference: c.text("payment_reference"),
	}
	if c.text("net") == "" {
		paid.Net = paid.GetGross()
	}
	if refunded := c.amount("refunded"); refunded > 0 {
		if b.IsRefunded = refunded == paid.GetGross(); !b.IsRefunded {
			c.refuse("refunded", "must be 0 or the whole price: an import cannot record a part")
		}
	}
	b.Payment = &bookingv1.ImportedBooking_Card{Card: paid}
}

// attendeeNamed returns how a row names the customer who attends.
func attendeeNamed(row csvfile.Row) customerName {
	return customerName{row.Get("customerid"), row.Get("email"), "customer_id", "email"}
}

// purchaserNamed returns how a row names the purchaser, if it does.
func purchaserNamed(row csvfile.Row) customerName {
	return customerName{row.Get("purchaserid"), row.Get("purchaseremail"), "purchaser_id", "purchaser_email"}
}

// purchaserOf returns the purchaser of the rows of a purchase: the first one named, or else the customer who attends in
// the first row.
func purchaserOf(rows []csvfile.Row) customerName {
	for _, row := range rows {
		if purchaser := purchaserNamed(row); !purchaser.isEmpty() {
			return purchaser
		}
	}
	return attendeeNamed(rows[0])
}

// resolvePurchases looks up the customers and the passes of a batch.
func (run *importRun) resolvePurchases(items []*importItem[*bookingv1.ImportedTransaction]) error {
	var names []customerName
	var passes []string
	for _, item := range items {
		names = append(names, purchaserOf(item.rows))
		for _, row := range item.rows {
			names = append(names, attendeeNamed(row))
			if pass := row.Get("customerpassid"); pass != "" && len(pass) <= 200 {
				passes = append(passes, pass)
			}
		}
	}
	known, err := run.customersNamed(names)
	if err != nil {
		return err
	}
	held, err := run.passesNamed(passes)
	if err != nil {
		return err
	}
	for _, item := range items {
		if item.failed == nil {
			setCustomers(item, known)
			setPasses(item, held)
		}
	}
	return nil
}

// passesNamed returns passes by the identifiers or references by which rows name them.
func (r *request) passesNamed(names []string) (map[string]string, error) {
	found := map[string]string{}
	for len(names) > 0 {
		part := names[:min(len(names), importBatch)]
		names = names[len(part):]
		res, err := r.services.passes.FindImportedPasses(r.ctx, &passv1.FindImportedPassesRequest{References: part})
		if err != nil {
			return nil, err
		}
		for _, p := range res.GetPasses() {
			found[p.GetReference()] = p.GetCustomerPassId()
		}
	}
	return found, nil
}

// setCustomers sets the customers of a purchase, or refuses it.
func setCustomers(item *importItem[*bookingv1.ImportedTransaction], known knownCustomers) {
	purchaser, column, reason := known.find(purchaserOf(item.rows))
	if item.thing.Customer = purchaser; purchaser == "" {
		item.refuse(0, column, reason)
		return
	}
	for n, row := range item.rows {
		name := attendeeNamed(row)
		if name.isEmpty() {
			continue
		}
		attendee, column, reason := known.find(name)
		if attendee == "" {
			item.refuse(n, column, reason)
			return
		}
		item.thing.Bookings[n].BoughtFor = attendee
	}
}

// setPasses sets the passes that paid for bookings, or refuses the purchase.
func setPasses(item *importItem[*bookingv1.ImportedTransaction], held map[string]string) {
	for n, b := range item.thing.GetBookings() {
		paid := b.GetPass()
		if paid.GetCustomerPassId() == "" {
			continue
		}
		pass := held[paid.GetCustomerPassId()]
		if pass == "" {
			item.refuse(n, "customer_pass_id", "no pass with the identifier or reference "+quoteShort(paid.GetCustomerPassId())+": import the passes first, or leave it empty")
			return
		}
		paid.CustomerPassId = pass
	}
}
