package booking

import (
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/page"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/store"
)

// resourceList is a request for a list of staff, rooms or appointment types.
type resourceList interface {
	GetPageSize() int32
	GetPageToken() string
	GetOffset() int64
	GetOrder() bookingv1.ResourceOrder
	GetUpdatedSince() *timestamppb.Timestamp
}

// resourceQuery reads the page, the order and the filters that these lists have in common.
func resourceQuery(r resourceList, active *bool, orders store.ResourceOrders) (*store.ResourceQuery, error) {
	order, ok := map[bookingv1.ResourceOrder]page.Order{
		bookingv1.ResourceOrder_RESOURCE_ORDER_UNSPECIFIED:  orders.Created,
		bookingv1.ResourceOrder_RESOURCE_ORDER_CREATED:      orders.Created,
		bookingv1.ResourceOrder_RESOURCE_ORDER_CREATED_DESC: orders.CreatedDesc,
		bookingv1.ResourceOrder_RESOURCE_ORDER_UPDATED:      orders.Updated,
		bookingv1.ResourceOrder_RESOURCE_ORDER_UPDATED_DESC: orders.UpdatedDesc,
	}[r.GetOrder()]
	if !ok {
		return nil, fault.InvalidParameter("order", "enum", "is not an order of this list")
	}
	q := &store.ResourceQuery{Active: active}
	var err error
	if q.Page, err = page.Read(page.Of(r), order, pageSizes()); err != nil {
		return nil, err
	}
	q.Since, err = check.Bound("updated_since", r.GetUpdatedSince())
	return q, err
}
