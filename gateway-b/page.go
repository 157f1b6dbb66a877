package gatewayb

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/enum"
	"reservation.dev/platform/fault"
)

const (
	defaultPerPage = 25
	maxPerPage     = 100
)

// parameters are those that every list has, as text.
type parameters struct {
	page, perPage, cursor, sort, updatedSince *string
}

// page is what a list is to return.
type page struct {
	number, size int32
	cursor       string
	sort         int32 // a service's order: created, created descending, updated, updated descending
	since        *timestamppb.Timestamp
}

// offset is how many rows a page by number skips.
func (p *page) offset() int64 {
	if p.cursor != "" {
		return 0
	}
	return int64(p.number-1) * int64(p.size)
}

// The orders of the services' lists have the same numbers everywhere.
const (
	orderCreated int32 = iota + 1
	orderCreatedDesc
	orderUpdated
	orderUpdatedDesc
)

// sorts are the orders that a list takes; registrations have the first two.
func sorts() []string { return []string{"createdAt", "-createdAt", "updatedAt", "-updatedAt"} }

// newPage reads the parameters that lists share. Of the orders only the first so
// many are taken.
func newPage(in parameters, orders int) (page, error) {
	p := page{number: 1, size: defaultPerPage, sort: orderCreated}
	number, err := edge.QueryInt("page", in.page)
	if err != nil {
		return p, err
	}
	size, err := edge.QueryInt("perPage", in.perPage)
	if err != nil {
		return p, err
	}
	if in.cursor != nil {
		p.cursor = *in.cursor
	}
	if number != nil {
		p.number = *number
	}
	if size != nil {
		p.size = *size
	}
	switch {
	case p.number < 1:
		return p, fault.InvalidParameter("page", "min", "must be 1 or more")
	case p.size < 1:
		return p, fault.InvalidParameter("perPage", "min", "must be 1 or more")
	case p.cursor != "" && p.number > 1:
		return p, fault.InvalidParameter("page", "exclusive", "must not be given with cursor")
	}
	p.size = min(p.size, maxPerPage)
	if in.sort != nil {
		p.sort = 0
		for i, name := range sorts()[:orders] {
			if name == *in.sort {
				p.sort = int32(i) + 1
			}
		}
		if p.sort == 0 {
			return p, fault.InvalidParameter("sort", "enum", fault.OneOf(sorts()[:orders]))
		}
	}
	p.since, err = instantParameter("updatedSince", in.updatedSince)
	return p, err
}

// instantParameter reads an optional date-time with offset.
func instantParameter(name string, value *string) (*timestamppb.Timestamp, error) {
	t, err := edge.QueryInstant(name, value)
	if t == nil || err != nil {
		return nil, err
	}
	return timestamppb.New(*t), nil
}

// boolParameter reads an optional true or false.
func boolParameter(name string, value *string) (*bool, error) {
	if value == nil {
		return nil, nil
	}
	b, err := edge.QueryBool(name, value)
	return &b, err
}

// enumParameter reads an optional name of a service's value; absent: its zero.
func enumParameter[E enum.Enum](name string, value *string) (E, error) {
	if value == nil {
		return 0, nil
	}
	v, ok := enum.Parse[E](*value)
	if !ok {
		return 0, fault.InvalidParameter(name, "enum", fault.OneOf(enum.Names[E]()))
	}
	return v, nil
}

// next is a list's cursor to the next page; nil on the last one.
func next(token string) *string {
	if token == "" {
		return nil
	}
	return &token
}

// listNames are the parameters of lists as this interface has them.
func listNames() map[string]string {
	return map[string]string{"page_size": "perPage", "page_token": "cursor", "offset": "page", "pass_type_id": "passId"}
}

// utc prints an instant as this interface does; "" where there is none.
func utc(t *timestamppb.Timestamp) string {
	if t == nil {
		return ""
	}
	return t.AsTime().UTC().Truncate(time.Second).Format(time.RFC3339)
}
