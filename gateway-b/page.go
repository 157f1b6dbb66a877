package gatewayb

import (
	"slices"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/fault"
)

const (
	defaultPerPage = 25
	maxPerPage     = 100
)

// parameters are the query parameters that every list has.
type parameters struct {
	page, perPage, cursor, sort, updatedSince *string
}

// page is the page of a list that a request asks for.
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

// orderCreated is the order of a list without sort. The orders of the services' lists
// have the same numbers everywhere.
const orderCreated int32 = 1

// sorts returns the orders that a list takes, by their numbers from 1; registrations
// have the first two.
func sorts() []string { return []string{"createdAt", "-createdAt", "updatedAt", "-updatedAt"} }

// newPage reads the parameters that lists share. The list has the first of sorts, as many
// as orders says.
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
		q.Fail(fault.InvalidParameter("page", "exclusive", "must not be given with cursor"))
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

// next returns the cursor of the next page; nil on the last one.
func next(token string) *string {
	if token == "" {
		return nil
	}
	return &token
}
