package gatewaya

import (
	"reservation.dev/platform/edge"
	"reservation.dev/platform/fault"
)

const (
	defaultPageSize = 30
	maxPageSize     = 100
)

// page is the requested page of a list. Pages are numbered from 0.
type page struct{ number, size int32 }

// offset returns how many items to skip.
func (p page) offset() int64 { return int64(p.number) * int64(p.size) }

// newPage reads the parameters page and pageSize.
func newPage(q *edge.Query, number, size *string) page {
	p := page{size: defaultPageSize}
	if n := q.Int("page", number); n != nil {
		p.number = *n
	}
	if n := q.PageSize("pageSize", size); n != nil {
		p.size = min(*n, maxPageSize)
	}
	if p.number < 0 {
		q.Fail(fault.InvalidParameter("page", "min", "must be 0 or more"))
	}
	if p.size < 1 {
		q.Fail(fault.InvalidParameter("pageSize", "min", "must be 1 or more"))
	}
	return p
}
