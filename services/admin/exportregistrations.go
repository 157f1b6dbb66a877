package admin

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/csvfile"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// The windows in which registrations are read. A page of registrations of a period costs as much as the period has
// bookings, so a window with many bookings is made shorter, and after an empty one the next is longer.
const (
	windowFirst  = 24 * time.Hour
	windowMost   = 32 * 24 * time.Hour
	windowLeast  = time.Minute
	windowCrowds = 2000
)

func registrationsExport() exportKind {
	list := func(r *request, from, before time.Time, size int32, token string, most int64) (*bookingv1.ListRegistrationsResponse, error) {
		return r.services.bookings.ListRegistrations(r.ctx, &bookingv1.ListRegistrationsRequest{
			PageSize: size, PageToken: token, Order: bookingv1.RegistrationOrder_REGISTRATION_ORDER_CREATED,
			StartsFrom: timestamppb.New(from), StartsBefore: timestamppb.New(before), TotalLimit: most,
		})
	}
	return exportKind{
		name:   "registrations",
		header: append([]string{"registration_id", "transaction_id", "customer_id", "purchaser_id", "created_at", "updated_at"}, bookingHeader()...),
		count: func(r *request, s exportSpan) (int64, error) {
			res, err := list(r, s.from, s.before, 1, "", countedMost)
			return res.GetTotal(), err
		},
		rows: func(r *request, s exportSpan) rowSource {
			w := &windows{span: s, from: s.from, length: windowFirst}
			w.list = func(from, before time.Time, token string, most int64) (*bookingv1.ListRegistrationsResponse, error) {
				return list(r, from, before, exportPage, token, most)
			}
			return w.next
		},
	}
}

// windows reads the registrations of a span, one window of it after the other.
type windows struct {
	span   exportSpan
	list   func(from, before time.Time, token string, most int64) (*bookingv1.ListRegistrationsResponse, error)
	from   time.Time // of the window
	length time.Duration
	token  string // of the next page of the window; "": its first page
	found  int64  // in the window, up to windowCrowds
}

// next returns the rows of the next page.
func (w *windows) next() ([][]csvfile.Cell, bool, error) {
	before, most := w.from.Add(w.length), int64(1)
	if before.After(w.span.before) {
		before = w.span.before
	}
	if w.token == "" {
		most = windowCrowds
	}
	res, err := w.list(w.from, before, w.token, most)
	if err != nil {
		return nil, false, err
	}
	if w.token == "" {
		if w.found = res.GetTotal(); w.found >= windowCrowds && w.length > windowLeast {
			w.length = max(w.length/8, windowLeast)
			return nil, true, nil
		}
	}
	if w.token = res.GetNextPageToken(); w.token == "" {
		w.from = before
		if w.found < windowCrowds/8 {
			w.length = min(2*w.length, windowMost)
		}
	}
	rows := csvRows(res.GetRegistrations(), func(g *bookingv1.Registration) []csvfile.Cell {
		b := g.GetBooking()
		attendee := attendeeOf(b, g.GetPurchaser())
		return append([]csvfile.Cell{
			csvfile.Own(b.GetId()), csvfile.Own(g.GetTransactionId()), csvfile.Own(attendee.GetId()), csvfile.Own(g.GetPurchaser().GetId()),
			utc(g.GetCreatedAt()), utc(g.GetUpdatedAt()),
		}, bookingCells(b, g.GetPurchaser(), attendee)...)
	})
	return rows, w.from.Before(w.span.before), nil
}
