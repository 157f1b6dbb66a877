package gatewayb

import (
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/fault"
)

const (
	defaultPerPage = 25
	maxPerPage     = 100
)

// parameters are the query parameters that all lists share.
type parameters struct {
	page, perPage, cursor, sort, updatedSince *string
}

// page is the requested page of a list.
type page struct {
	number, size int32
	cursor       string
	sort         int32 // the number of a service's order, see sorts
	since        *timestamppb.Timestamp
}

// offset returns how many rows to skip: 0 with a cursor.
func (p *page) offset() int64 {
	if p.cursor != "" {
		return 0
	}
	return int64(p.number-1) * int64(p.size)
}

// orderCreated is the default order. All lists of the services number their orders in the same way.
const orderCreated int32 = 1

// sorts returns the values of sort, in the order of the services' numbers, which start at 1.
// The registrations of one event have only the first two.
func sorts() []string { return []string{"createdAt", "-createdAt", "updatedAt", "-updatedAt"} }

// newPage reads the parameters that all lists share. orders is how many of sorts the list supports.
func newPage(q *edge.Query, in parameters, orders int) page {
	p := page{number: 1, size: defaultPerPage, sort: orderCreated}
	if number := q.Int("page", in.page); number != nil {
		p.number = *number
	}
	if size := q.Int("perPage", in.perPage); size != nil {
		p.size = *size
	}
	if in.cursor != nil {
		p.cursor = *in.cursor
	}
	switch {
	case p.number < 1:
		q.Fail(fault.InvalidParameter("page", "min", "must be 1 or more"))
	case p.size < 1:
		q.Fail(fault.InvalidParameter("perPage", "min", "must be 1 or more"))
	case p.cursor != "" && p.number > 1:
		q.Fail(fault.InvalidParameter("page", "exclusive", "cannot be used together with cursor"))
	}
	p.size = min(p.size, maxPerPage)
	if in.sort != nil {
		p.sort = int32(slices.Index(sorts()[:orders], *in.sort)) + 1
		if p.sort == 0 {
			q.Fail(fault.InvalidParameter("sort", "enum", fault.OneOf(sorts()[:orders])))
		}
	}
	p.since = q.Instant("updatedSince", in.updatedSince)
	return p
}

// nextCursor returns the cursor of the next page, or nil on the last page.
func nextCursor(token string) *string {
	if token == "" {
		return nil
	}
	return &token
}

// noneIfMissing makes the list empty if a filter names something that does not exist, as all lists do.
// Some services answer with NOT_FOUND. The getters of the nil response return an empty page.
func noneIfMissing[R any](list *R, err error) (*R, error) {
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	return list, err
}

// queryChoice returns the position of a parameter in names, counted from 1, or 0 if it is absent.
func queryChoice[T ~int32](q *edge.Query, name string, value *string, names []string) T {
	if value == nil {
		return 0
	}
	i := slices.Index(names, *value)
	if i < 0 {
		q.Fail(fault.InvalidParameter(name, "enum", fault.OneOf(names)))
	}
	return T(i + 1)
}

// queryRequired returns the value of a parameter that must be present.
func queryRequired(q *edge.Query, name string, value *string) string {
	if value == nil || *value == "" {
		q.Fail(fault.InvalidParameter(name, "required", "is required"))
		return ""
	}
	return *value
}

// queryDay reads a calendar day, or "" if it is absent.
func queryDay(q *edge.Query, name string, value *string) string {
	if value == nil {
		return ""
	}
	if _, err := time.Parse(time.DateOnly, *value); err != nil {
		q.Fail(fault.InvalidParameter(name, "format", "must be a day, for example 2026-03-29"))
	}
	return *value
}
