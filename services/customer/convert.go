package customer

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
)

func message(c Customer) *customerv1.Customer {
	m := &customerv1.Customer{
		Id: c.ID.String(), Reference: referenceOf(c), Archived: c.Archived, Version: c.Version,
		CreatedAt: timestamppb.New(c.CreatedAt), UpdatedAt: timestamppb.New(c.UpdatedAt), DeletedAt: timestamp(c.DeletedAt),
	}
	writeFields(m, c)
	return m
}

func snapshot(c Customer) *customerv1.CustomerSnapshot {
	m := &customerv1.CustomerSnapshot{
		Id: c.ID.String(), Reference: referenceOf(c), Archived: c.Archived, Version: c.Version,
		CreatedAt: timestamppb.New(c.CreatedAt), UpdatedAt: timestamppb.New(c.UpdatedAt), DeletedAt: timestamp(c.DeletedAt),
	}
	writeFields(m, c)
	return m
}

// writeFields sets the fields of a customer in a message that has them.
func writeFields(m proto.Message, c Customer) {
	message := m.ProtoReflect()
	all := message.Descriptor().Fields()
	for _, f := range Fields() {
		message.Set(all.ByName(protoreflect.Name(f.Name)), protoreflect.ValueOfString(*f.Value(&c)))
	}
}

// readFields returns the fields that a message sets, by name.
func readFields(m proto.Message) map[string]string {
	message := m.ProtoReflect()
	all := message.Descriptor().Fields()
	set := map[string]string{}
	for _, f := range Fields() {
		if d := all.ByName(protoreflect.Name(f.Name)); message.Has(d) {
			set[f.Name] = message.Get(d).String()
		}
	}
	return set
}

// described returns the customer that a request describes, without what the service
// adds.
func described(m interface {
	proto.Message
	GetArchived() bool
}) Customer {
	c := Customer{Archived: m.GetArchived()}
	set := readFields(m)
	for _, f := range Fields() {
		*f.Value(&c) = set[f.Name]
	}
	return c
}

func referenceOf(c Customer) string {
	if c.Reference == nil {
		return ""
	}
	return *c.Reference
}

func timestamp(t *time.Time) *timestamppb.Timestamp {
	if t == nil {
		return nil
	}
	return timestamppb.New(*t)
}

func changeOf(req *customerv1.UpdateCustomerRequest) Change {
	return Change{Fields: readFields(req), Archived: req.Archived}
}

// orderOf gives each order its columns.
func orderOf(o customerv1.CustomerOrder) (order, bool) {
	switch o {
	case customerv1.CustomerOrder_CUSTOMER_ORDER_UNSPECIFIED:
		return order{code: 0}, true
	case customerv1.CustomerOrder_CUSTOMER_ORDER_CREATED:
		return order{code: 1, by: byCreated}, true
	case customerv1.CustomerOrder_CUSTOMER_ORDER_CREATED_DESC:
		return order{code: 2, by: byCreated, desc: true}, true
	case customerv1.CustomerOrder_CUSTOMER_ORDER_UPDATED:
		return order{code: 3, by: byUpdated}, true
	case customerv1.CustomerOrder_CUSTOMER_ORDER_UPDATED_DESC:
		return order{code: 4, by: byUpdated, desc: true}, true
	}
	return order{}, false
}

// listOf checks a request for a page.
func listOf(req *customerv1.ListCustomersRequest) (list, error) {
	l := list{offset: req.GetOffset(), size: int(req.GetPageSize()), filter: filter{archived: req.Archived, email: req.GetEmail()}}
	switch {
	case l.size == 0:
		l.size = defaultPage
	case l.size < 0 || l.size > maxPage:
		return l, fault.InvalidParameter("page_size", "range", fmt.Sprintf("must be 1 to %d", maxPage))
	}
	if l.offset < 0 {
		return l, fault.InvalidParameter("offset", "range", "must be 0 or more")
	}
	if l.most = req.GetTotalLimit(); l.most < 0 {
		return l, fault.InvalidParameter("total_limit", "range", "must be 0 or more")
	}
	var err error
	if l.filter.query, err = parseQuery(req.GetQuery()); err != nil {
		return l, err
	}
	var known bool
	if l.order, known = orderOf(req.GetOrder()); !known {
		return l, fault.InvalidParameter("order", "enum", "is not an order")
	}
	l.after = l.order.start()
	if err := l.filter.check(); err != nil {
		return l, err
	}
	if l.filter.since, err = since(req.GetUpdatedSince()); err != nil || req.GetPageToken() == "" {
		return l, err
	}
	if l.offset != 0 {
		return l, fault.InvalidParameter("offset", "exclusive", "does not go with page_token")
	}
	l.after, err = l.order.cursor(req.GetPageToken())
	return l, err
}

// since returns the instant of an optional timestamp; zero: none.
func since(t *timestamppb.Timestamp) (time.Time, error) {
	if t == nil {
		return time.Time{}, nil
	}
	if !t.IsValid() {
		return time.Time{}, fault.InvalidParameter("updated_since", "format", "is not an instant")
	}
	return t.AsTime(), nil
}

// imported checks one line and makes a customer of it.
func (s *Server) imported(line *customerv1.ImportedCustomer, now time.Time) (Customer, error) {
	var check checks
	reference := check.text("reference", line.GetReference(), 1, maxReference)
	c := described(line)
	check.customer(&c)
	c.ID, c.Reference, c.Version, c.CreatedAt, c.UpdatedAt = id.Customer(s.newID()), &reference, 1, now, now
	if line.GetCreatedAt() != nil {
		c.CreatedAt = line.GetCreatedAt().AsTime().Truncate(time.Microsecond)
		if line.GetCreatedAt().CheckValid() != nil || c.CreatedAt.After(now) || c.CreatedAt.Year() < 1900 {
			check.add("created_at", "range", "must be an instant of the past, not before 1900")
		}
	}
	return c, check.err()
}

func refuse(r *customerv1.ImportCustomerResult, f *fault.Error) {
	r.Outcome = customerv1.ImportOutcome_IMPORT_OUTCOME_REFUSED
	if len(f.Fields) > 0 {
		r.Field, r.Rule, r.Message = f.Fields[0].Field, f.Fields[0].Rule, f.Fields[0].Message
	}
}

// storable leaves out what no reference is, and PostgreSQL would not take.
func storable(references []string) []string {
	list := make([]string, 0, len(references))
	for _, r := range references {
		if r != "" && utf8.ValidString(r) && !strings.ContainsRune(r, 0) {
			list = append(list, r)
		}
	}
	return list
}

// erasureMessage tells how far an erasure is. A service's progress is that of the
// rounds since it was last asked for.
func erasureMessage(e Erasure, answers []erasureAnswer) *privacyv1.Erasure {
	m := &privacyv1.Erasure{CustomerId: e.Customer.String(), RequestedBy: e.RequestedBy, RequestedAt: timestamppb.New(e.RequestedAt)}
	if e.EventsRemovedAt != nil {
		m.EventsRemovedAt = timestamppb.New(*e.EventsRemovedAt)
	}
	if e.CompletedAt != nil {
		m.CompletedAt = timestamppb.New(*e.CompletedAt)
	}
	for _, service := range erasers() {
		p := &privacyv1.ErasureProgress{Service: service}
		for _, a := range answers {
			switch {
			case a.Service != service || a.Round <= e.LastRound-rounds:
			case a.Round == e.LastRound:
				p.ConfirmedAt = timestamppb.New(a.ErasedAt)
			default:
				p.ErasedAt = timestamppb.New(a.ErasedAt)
			}
		}
		m.Services = append(m.Services, p)
	}
	return m
}
