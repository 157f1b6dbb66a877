package customer

import (
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/page"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
)

// message and snapshot list the fields explicitly, because reflection is too slow for lists and
// events. A test finds missing fields.
func message(c Customer) *customerv1.Customer {
	return &customerv1.Customer{
		Id: c.ID.String(), Reference: referenceOf(c), FirstName: c.FirstName, LastName: c.LastName, Email: c.Email, Mobile: c.Mobile,
		Archived: c.Archived, CreatedAt: timestamppb.New(c.CreatedAt), UpdatedAt: timestamppb.New(c.UpdatedAt),
		DeletedAt: timestamp(c.DeletedAt), Version: c.Version,
	}
}

func snapshot(c Customer) *customerv1.CustomerSnapshot {
	return &customerv1.CustomerSnapshot{
		Id: c.ID.String(), Reference: referenceOf(c), FirstName: c.FirstName, LastName: c.LastName, Email: c.Email, Mobile: c.Mobile,
		Archived: c.Archived, CreatedAt: timestamppb.New(c.CreatedAt), UpdatedAt: timestamppb.New(c.UpdatedAt),
		DeletedAt: timestamp(c.DeletedAt), Version: c.Version,
	}
}

// readFields returns the fields that a message sets, by name.
func readFields(m proto.Message) map[string]string {
	message := m.ProtoReflect()
	all := message.Descriptor().Fields()
	set := map[string]string{}
	for _, f := range fields() {
		if d := all.ByName(protoreflect.Name(f.name)); message.Has(d) {
			set[f.name] = message.Get(d).String()
		}
	}
	return set
}

// described returns the customer that a request describes, without the fields that the service sets
// itself.
func described(m interface {
	proto.Message
	GetArchived() bool
}) Customer {
	c := Customer{Archived: m.GetArchived()}
	set := readFields(m)
	for _, f := range fields() {
		*f.value(&c) = set[f.name]
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

// orderOf returns the order for a list, with its column.
func orderOf(o customerv1.CustomerOrder) (page.Order, error) {
	order := page.Order{Code: byte(o)}
	switch o {
	case customerv1.CustomerOrder_CUSTOMER_ORDER_UNSPECIFIED:
	case customerv1.CustomerOrder_CUSTOMER_ORDER_CREATED:
		order.Column = byCreated
	case customerv1.CustomerOrder_CUSTOMER_ORDER_CREATED_DESC:
		order.Column, order.Desc = byCreated, true
	case customerv1.CustomerOrder_CUSTOMER_ORDER_UPDATED:
		order.Column = byUpdated
	case customerv1.CustomerOrder_CUSTOMER_ORDER_UPDATED_DESC:
		order.Column, order.Desc = byUpdated, true
	default:
		return order, fault.InvalidParameter("order", "enum", "is not an order")
	}
	return order, nil
}

// listOf checks the request for a page of customers.
func listOf(req *customerv1.ListCustomersRequest) (l list, err error) {
	if l.Page, l.tier, err = pageOf(req); err != nil {
		return l, err
	}
	if l.most = req.GetTotalLimit(); l.most < 0 {
		return l, fault.InvalidParameter("total_limit", "range", "must be 0 or more")
	}
	l.filter = filter{archived: req.Archived, email: req.GetEmail()}
	if l.filter.query, err = parseQuery(req.GetQuery()); err != nil {
		return l, err
	}
	if err := l.filter.check(); err != nil {
		return l, err
	}
	if l.filter.createdFrom, err = check.Bound("created_from", req.GetCreatedFrom()); err != nil {
		return l, err
	}
	if l.filter.createdBefore, err = check.Bound("created_before", req.GetCreatedBefore()); err != nil {
		return l, err
	}
	l.filter.since, err = check.Bound("updated_since", req.GetUpdatedSince())
	return l, err
}

// pageOf reads the page of a request. A page token is valid for the order of the previous page and
// continues in its tier.
func pageOf(req *customerv1.ListCustomersRequest) (page.Page, tier, error) {
	order, err := orderOf(req.GetOrder())
	if err != nil {
		return page.Page{}, noTier, err
	}
	t, err := tierOf(req.GetPageToken())
	if err != nil {
		return page.Page{}, noTier, err
	}
	code := order.Code
	order.Code |= byte(t) << tierBits
	p, err := page.Read(page.Of(req), order, pageSizes())
	p.Order.Code = code
	if p.After == nil {
		p.After = new(p.Order.Start())
	}
	return p, t, err
}

// pageSizes are the page sizes of every list of the service.
func pageSizes() page.Sizes { return page.Sizes{Default: 100, Max: 1000} }

// erasureMessage returns the progress of an erasure. The progress of a service counts the rounds
// since the erasure was last requested.
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
