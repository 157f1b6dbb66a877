package admin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
)

// personalStore is a service that knows something of customers.
type personalStore struct {
	name   string
	client privacyv1.PersonalDataServiceClient
}

// exportedRecord is one thing in the file that an export is.
type exportedRecord struct {
	Service string          `json:"service"`
	Kind    string          `json:"kind"`
	ID      string          `json:"id"`
	Data    json.RawMessage `json:"data"`
}

// exportCustomer answers with everything that is stored about a customer, as a
// file. It is whole before it is sent: half of one would look like all of it.
func (r *request) exportCustomer() error {
	page, err := r.findCustomer()
	if err != nil {
		return err
	}
	document := struct {
		Company    string           `json:"company_id"`
		Customer   string           `json:"customer_id"`
		ExportedAt time.Time        `json:"exported_at"`
		Records    []exportedRecord `json:"records"`
	}{r.session.Company.GetId(), page.Customer.GetId(), r.web.now().UTC().Truncate(time.Second), []exportedRecord{}}
	for _, s := range r.services.stores {
		records, err := r.stored(s, page.Customer.GetId())
		if err != nil {
			return fmt.Errorf("export of %s: %w", s.name, err)
		}
		document.Records = append(document.Records, records...)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(document); err != nil {
		return err
	}
	r.changed()
	r.w.Header().Set("Content-Disposition", `attachment; filename="`+page.Customer.GetId()+`.json"`)
	r.answer(http.StatusOK, "application/json; charset=utf-8", b.Bytes())
	return nil
}

func (r *request) stored(s personalStore, customer string) ([]exportedRecord, error) {
	stream, err := s.client.ExportPersonalData(r.ctx, &privacyv1.ExportPersonalDataRequest{CustomerId: customer})
	if err != nil {
		return nil, err
	}
	var records []exportedRecord
	for {
		res, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return records, nil
		}
		if err != nil {
			return nil, err
		}
		one := res.GetRecord()
		records = append(records, exportedRecord{one.GetService(), one.GetKind(), one.GetId(), json.RawMessage(one.GetJson())})
	}
}

// erasePage asks for an erasure, or tells how far one is.
type erasePage struct {
	Customer *customerv1.Customer
	Form     *form
	// What is to come, and so is in the way.
	Bookings []*bookingv1.Booking
	Passes   []*passv1.CustomerPass
	More     bool
	// Erasure is one that was asked for; then there is no customer.
	Erasure *privacyv1.Erasure
}

func (erasePage) head() (*message, string) { return literal("Erase a customer"), "customers" }

// Name is what has to be typed.
func (p erasePage) Name() string { return fullName(p.Customer) }

// Open tells whether something is in the way.
func (p erasePage) Open() bool { return len(p.Bookings)+len(p.Passes) > 0 }

// eraseForm shows what an erasure would do, what is in its way, or how far it is.
func (r *request) eraseForm() error {
	res, err := r.services.erasures.GetErasure(r.ctx, &privacyv1.GetErasureRequest{CustomerId: r.path("id")})
	if err == nil {
		return r.render("erase", erasePage{Erasure: res.GetErasure()})
	}
	if !fault.Is(err, fault.NotFound) {
		return err
	}
	page, err := r.erasable()
	if err != nil {
		return err
	}
	return r.render("erase", page)
}

// erasable is a customer with what is in the way of an erasure.
func (r *request) erasable() (erasePage, error) {
	found, err := r.findCustomer()
	if err != nil {
		return erasePage{}, err
	}
	page := erasePage{Customer: found.Customer, Form: newForm()}
	size, since := int32(100), "1900-01-01"
	txns, err := r.services.bookings.ListTransactions(r.ctx, &bookingv1.ListTransactionsRequest{
		CustomerId: found.Customer.GetId(), PageSize: &size, StartDate: &since, FutureOnly: true,
	})
	if err != nil {
		return page, err
	}
	for _, t := range txns.GetTransactions() {
		for _, b := range t.GetBookings() {
			if !b.GetIsCancelled() {
				page.Bookings = append(page.Bookings, b)
			}
		}
	}
	// The rest of so many shows once these are cancelled, or nothing of them is open.
	page.More = txns.GetTotal() > int64(size)
	for _, status := range []passv1.CustomerPassStatus{
		passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_ACTIVE, passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_PENDING,
		passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_PAUSED,
	} {
		passes, err := r.services.passes.ListCustomerPasses(r.ctx, &passv1.ListCustomerPassesRequest{
			CustomerId: found.Customer.GetId(), PageSize: 200, Status: status,
		})
		if err != nil {
			return page, err
		}
		page.Passes = append(page.Passes, passes.GetCustomerPasses()...)
	}
	return page, nil
}

// eraseAgain goes on with the erasure of a form that was sent before: the services
// may not have confirmed it. A deleted customer whom nobody erased stays as it is.
func (r *request) eraseAgain() error {
	customer, erasures := r.path("id"), r.services.erasures
	_, err := erasures.GetErasure(r.ctx, &privacyv1.GetErasureRequest{CustomerId: customer})
	if err == nil {
		_, err = erasures.EraseCustomer(r.ctx, &privacyv1.EraseCustomerRequest{CustomerId: customer})
	}
	if err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	return r.eraseForm()
}

// eraseCustomer erases, once the name was typed and nothing is in the way.
func (r *request) eraseCustomer() error {
	page, err := r.erasable()
	if fault.Is(err, fault.NotFound) {
		return r.eraseAgain()
	}
	if err != nil {
		return err
	}
	page.Form = r.sent(nil)
	if !slices.Equal(strings.Fields(page.Form.text("name")), strings.Fields(page.Name())) {
		page.Form.add("name", literal("Type the customer's name as it stands above."))
	}
	if page.Open() || page.Form.Failed() {
		page.Form.values.Del("name")
		return r.notAccepted("erase", page)
	}
	customer := page.Customer.GetId()
	if _, err := perform(r, r.services.erasures.EraseCustomer, &privacyv1.EraseCustomerRequest{CustomerId: customer}); err != nil {
		return r.refused("/customers/"+customer+"/erase", err)
	}
	return r.back("/customers/"+customer+"/erase", "The customer is erased. The services confirm it within minutes.")
}
