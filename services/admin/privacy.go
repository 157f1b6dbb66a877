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
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// personalStore is a service that stores personal data of customers.
type personalStore struct {
	name   string
	client privacyv1.PersonalDataServiceClient
}

// exportedRecord is a record in the file of an export.
type exportedRecord struct {
	Service string          `json:"service"`
	Kind    string          `json:"kind"`
	ID      string          `json:"id"`
	Data    json.RawMessage `json:"data"`
}

// exportCustomer responds with a file of all data that the services store about a customer. It
// reads everything before it sends the first byte, because a truncated file would look complete.
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

// stored returns the records that a service has about a customer.
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
		record := res.GetRecord()
		records = append(records, exportedRecord{record.GetService(), record.GetKind(), record.GetId(), json.RawMessage(record.GetJson())})
	}
}

// erasePage is the form of an erasure, or the progress of one.
type erasePage struct {
	Customer *customerv1.Customer
	Form     *form
	// Bookings and Passes must be cancelled before the erasure. More is true if the customer has
	// more bookings than were read, which may have to be cancelled too.
	Bookings []*bookingv1.Booking
	Passes   []*passv1.CustomerPass
	// Subscriptions must have ended before the erasure.
	Subscriptions []subscriptionView
	More          bool
	// Erasure is the erasure in progress or completed; Customer is nil then.
	Erasure *privacyv1.Erasure
}

func (erasePage) head() (*message, string) { return msg("desk.erase.title"), "customers" }

// Name returns the name that the form must have.
func (p erasePage) Name() string { return fullName(p.Customer) }

// Open reports whether a booking or pass must be cancelled first.
func (p erasePage) Open() bool { return len(p.Bookings)+len(p.Passes)+len(p.Subscriptions) > 0 }

// eraseForm shows what an erasure does and what must be cancelled first. If an erasure was
// requested before, it shows its progress.
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

// erasable returns the page of a customer, with the bookings, passes and subscriptions that must be
// cancelled before an erasure.
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
	// The other purchases are listed once these bookings are cancelled.
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
		for _, p := range passes.GetCustomerPasses() {
			if p.GetSubscriptionId() == "" {
				page.Passes = append(page.Passes, p)
			}
		}
	}
	page.Subscriptions, err = r.openSubscriptions(found.Customer.GetId())
	return page, err
}

// openSubscriptions returns the subscriptions of a customer that have not ended.
func (r *request) openSubscriptions(customer string) ([]subscriptionView, error) {
	res, err := r.services.subscriptions.ListSubscriptions(r.ctx, &subscriptionv1.ListSubscriptionsRequest{
		CustomerId: customer, PageSize: 200, Order: subscriptionv1.SubscriptionOrder_SUBSCRIPTION_ORDER_CREATED_DESC,
	})
	all := views(res.GetSubscriptions(), func(s *subscriptionv1.Subscription) subscriptionView { return subscriptionView{Subscription: s} })
	return slices.DeleteFunc(all, subscriptionView.Ended), err
}

// eraseAgain repeats the request for an erasure that was already requested, because not every
// service may have confirmed it. It changes nothing for a customer who was only deleted.
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

// eraseCustomer erases a customer if the name was typed and nothing must be cancelled first.
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
		page.Form.add("name", msg("desk.erase.wrong_name"))
	}
	if page.Open() || page.Form.Failed() {
		page.Form.values.Del("name")
		return r.notAccepted("erase", page)
	}
	customer := page.Customer.GetId()
	if _, err := perform(r, r.services.erasures.EraseCustomer, &privacyv1.EraseCustomerRequest{CustomerId: customer}); err != nil {
		return r.refused("/customers/"+customer+"/erase", err)
	}
	return r.back("/customers/"+customer+"/erase", r.text("desk.erase.done"))
}
