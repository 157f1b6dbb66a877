package booking

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/testing/protocmp"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// callOf returns a call that returns only its error.
func callOf[Q, R any](call func(context.Context, *Q, ...grpc.CallOption) (*R, error), req *Q) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := call(ctx, req)
		return err
	}
}

// newType creates a type, with a title and a length of 30 minutes by default.
func (w *world) newType(req *bookingv1.CreateAppointmentTypeRequest) *bookingv1.AppointmentType {
	w.t.Helper()
	if req.Title == "" {
		req.Title = "Massage"
	}
	if req.Lengths == nil {
		req.Lengths = []int32{30}
	}
	resp, err := w.typeClient.CreateAppointmentType(w.ctx, req)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.GetAppointmentType()
}

func newPrice(name string, price int64, length int32) *bookingv1.NewAppointmentPrice {
	return &bookingv1.NewAppointmentPrice{Option: &bookingv1.NewPricingOption{Name: name, Price: price}, LengthMinutes: length}
}

// priced describes the prices of a type.
func priced(t *bookingv1.AppointmentType) string {
	var all []string
	for _, p := range t.GetPrices() {
		all = append(all, fmt.Sprintf("%s %d %s for %d", p.GetOption().GetName(), p.GetOption().GetPrice(), p.GetOption().GetCurrency(), p.GetLengthMinutes()))
	}
	return strings.Join(all, ", ")
}

// clinic is a world with staff, rooms and an appointment type that uses every field.
type clinic struct {
	*world
	ada, bo     *bookingv1.StaffMember
	one, two    *bookingv1.Room
	massage     *bookingv1.AppointmentType
	thirty, any string // prices
}

func newClinic(t *testing.T) *clinic {
	t.Helper()
	w := &clinic{world: newWorld(t)}
	w.ada, w.bo, w.one, w.two = w.member("Ada"), w.member("Bo"), w.room("One", 1), w.room("Two", 2)
	w.massage = w.newType(&bookingv1.CreateAppointmentTypeRequest{
		Title: " Massage ", Description: "Warm.", Location: "North", Timezone: "Europe/London", Lengths: []int32{60, 30}, BufferBeforeMinutes: 5, BufferAfterMinutes: 10,
		SlotMinutes: 20, MinimumNoticeMinutes: 120, MaximumAdvanceDays: 90, StaffIds: []string{w.bo.GetId(), w.ada.GetId()},
		Rooms:  []*bookingv1.RoomRequirement{{AnyOf: []string{w.two.GetId(), w.one.GetId()}}},
		Prices: []*bookingv1.NewAppointmentPrice{newPrice("Short", 3000, 30), newPrice("Any", 5000, 0)}, FreeCancellationMinutes: new(int32(1440)), Reference: "m1",
	})
	w.thirty, w.any = w.massage.GetPrices()[0].GetOption().GetId(), w.massage.GetPrices()[1].GetOption().GetId()
	return w
}

func (w *clinic) change(req *bookingv1.UpdateAppointmentTypeRequest) (*bookingv1.AppointmentType, error) {
	req.Id = w.massage.GetId()
	resp, err := w.typeClient.UpdateAppointmentType(w.ctx, req)
	return resp.GetAppointmentType(), err
}

func TestNewAppointmentType(t *testing.T) {
	t.Parallel()
	w := newClinic(t)
	t.Run("a type is returned as it is stored", func(t *testing.T) {
		want := &bookingv1.AppointmentType{
			Id: w.massage.GetId(), EventId: id.Event(idOf[id.AppointmentType](t, w.massage.GetId())).String(), Title: "Massage", Description: "Warm.", Location: "North",
			Timezone: "Europe/London", Lengths: []int32{30, 60}, BufferBeforeMinutes: 5, BufferAfterMinutes: 10, SlotMinutes: 20, MinimumNoticeMinutes: 120,
			MaximumAdvanceDays: 90, StaffIds: []string{w.ada.GetId(), w.bo.GetId()}, Rooms: []*bookingv1.RoomRequirement{{AnyOf: []string{w.two.GetId(), w.one.GetId()}}},
			Prices: w.massage.GetPrices(), FreeCancellationMinutes: new(int32(1440)), Active: true, Reference: "m1",
			CreatedAt: w.massage.GetCreatedAt(), UpdatedAt: w.massage.GetCreatedAt(), Version: 1,
		}
		got, err := w.typeClient.GetAppointmentType(w.ctx, &bookingv1.GetAppointmentTypeRequest{Id: w.massage.GetId()})
		if diff := cmp.Diff(want, got.GetAppointmentType(), protocmp.Transform()); err != nil || diff != "" {
			t.Error(err, diff)
		}
		if diff := cmp.Diff(want, w.massage, protocmp.Transform()); diff != "" {
			t.Error(diff)
		}
		if got := priced(w.massage); got != "Short 3000 GBP for 30, Any 5000 GBP for 0" {
			t.Error(got)
		}
	})
	t.Run("its event is published, is of the type appointment, and is not listed or announced", func(t *testing.T) {
		if got := one[string](w.world, `select type || ' ' || status || ' ' || of_appointments || ' ' || listed from events`); got != "appointment published true false" {
			t.Error(got)
		}
		if n := one[int64](w.world, `select events from event_totals`) + w.published(subjectEventCreated); n != 0 {
			t.Errorf("counted or announced %d times", n)
		}
	})
	t.Run("its event has no booking rules, because callers can waive the notice and the horizon", func(t *testing.T) {
		if got := one[string](w.world, `select minimum_notice_minutes || ' ' || maximum_advance_days from events`); got != "0 0" {
			t.Error(got)
		}
	})
	t.Run("a type without prices is free, and has the defaults", func(t *testing.T) {
		got := w.newType(&bookingv1.CreateAppointmentTypeRequest{Inactive: true})
		if priced(got) != "Free 0 GBP for 0" || got.GetSlotMinutes() != 15 || got.GetTimezone() != "Europe/London" || got.GetActive() {
			t.Errorf("got %v", got)
		}
	})
	t.Run("a retry with the key returns the first response", func(t *testing.T) {
		req := &bookingv1.CreateAppointmentTypeRequest{Title: "Once", Lengths: []int32{10}}
		first, err1 := w.typeClient.CreateAppointmentType(withKey(w.ctx, "k"), req)
		again, err2 := w.typeClient.CreateAppointmentType(withKey(w.ctx, "k"), req)
		if err1 != nil || err2 != nil || first.GetAppointmentType().GetId() != again.GetAppointmentType().GetId() {
			t.Errorf("got %v %v, %v %v", first, err1, again, err2)
		}
	})
}

func TestNewAppointmentTypeFaults(t *testing.T) {
	t.Parallel()
	w := newClinic(t)
	ada, first, second := w.ada.GetId(), w.one.GetId(), w.two.GetId()
	for _, c := range []struct {
		behaviour, want string
		req             *bookingv1.CreateAppointmentTypeRequest
	}{
		{"the title and a length are required", "title required, lengths required", &bookingv1.CreateAppointmentTypeRequest{}},
		{"lengths are 5 to 1440 minutes and distinct", "lengths[0] range, lengths[1] range, lengths[3] unique", &bookingv1.CreateAppointmentTypeRequest{Title: "x", Lengths: []int32{4, 1441, 30, 30}}},
		{"numbers have ranges", "buffer_before_minutes range, buffer_after_minutes range, slot_minutes range, minimum_notice_minutes range, maximum_advance_days range",
			&bookingv1.CreateAppointmentTypeRequest{Title: "x", Lengths: []int32{5}, BufferBeforeMinutes: -1, BufferAfterMinutes: 481, SlotMinutes: 4, MinimumNoticeMinutes: -1, MaximumAdvanceDays: 3651}},
		{"the policy and the zone are checked", "timezone timezone, free_cancellation_minutes range",
			&bookingv1.CreateAppointmentTypeRequest{Title: "x", Lengths: []int32{5}, Timezone: "Mars", FreeCancellationMinutes: new(int32(-1))}},
		{"prices are checked with their place", "prices[0].option.name required, prices[1].option.price range, prices[1].length_minutes exists",
			&bookingv1.CreateAppointmentTypeRequest{Title: "x", Lengths: []int32{30}, Prices: []*bookingv1.NewAppointmentPrice{{}, newPrice("A", -1, 31)}}},
		{"each length needs a price", "prices items", &bookingv1.CreateAppointmentTypeRequest{Title: "x", Lengths: []int32{30, 60}, Prices: []*bookingv1.NewAppointmentPrice{newPrice("A", 1, 30)}}},
		{"staff must exist", "staff_ids[1] exists, staff_ids[2] exists", &bookingv1.CreateAppointmentTypeRequest{Title: "x", Lengths: []int32{30}, StaffIds: []string{ada, "staff_x", id.New[id.StaffMember]().String()}}},
		{"staff are named once", "staff_ids[1] unique", &bookingv1.CreateAppointmentTypeRequest{Title: "x", Lengths: []int32{30}, StaffIds: []string{ada, ada}}},
		{"rooms must exist", "rooms[0].any_of[1] exists", &bookingv1.CreateAppointmentTypeRequest{Title: "x", Lengths: []int32{30}, Rooms: []*bookingv1.RoomRequirement{{AnyOf: []string{first, ""}}}}},
		{"a room is in one requirement", "rooms[1].any_of[1] unique",
			&bookingv1.CreateAppointmentTypeRequest{Title: "x", Lengths: []int32{30}, Rooms: []*bookingv1.RoomRequirement{{AnyOf: []string{first}}, {AnyOf: []string{second, first}}}}},
		{"a requirement has a room", "rooms[0].any_of required", &bookingv1.CreateAppointmentTypeRequest{Title: "x", Lengths: []int32{30}, Rooms: []*bookingv1.RoomRequirement{{}}}},
		{"a reference is unique", "reference unique", &bookingv1.CreateAppointmentTypeRequest{Title: "x", Lengths: []int32{30}, Reference: "m1"}},
	} {
		t.Run(c.behaviour, func(t *testing.T) {
			_, err := w.typeClient.CreateAppointmentType(w.ctx, c.req)
			if got := broken(t, err); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
	if n := one[int64](w.world, `select count(*) from events`); n != 1 {
		t.Errorf("%d events, want only that of the type", n)
	}
}

func TestAppointmentTypeChanges(t *testing.T) {
	t.Parallel()
	t.Run("a change keeps the other fields and increases the version", func(t *testing.T) {
		w := newClinic(t)
		got, err := w.change(&bookingv1.UpdateAppointmentTypeRequest{
			Title: new("Deep massage"), BufferAfterMinutes: new(int32(0)), MinimumNoticeMinutes: new(int32(0)), Staff: &bookingv1.StaffChoice{}, Rooms: &bookingv1.RoomRequirements{},
			FreeCancellationMinutes: new(int32(-1)), Active: new(false), ExpectedVersion: new(int64(1)),
		})
		want := w.massage
		want.Title, want.BufferAfterMinutes, want.MinimumNoticeMinutes, want.StaffIds, want.Rooms = "Deep massage", 0, 0, nil, nil
		want.FreeCancellationMinutes, want.Active, want.Version, want.UpdatedAt = nil, false, 2, got.GetUpdatedAt()
		if diff := cmp.Diff(want, got, protocmp.Transform()); err != nil || diff != "" {
			t.Fatal(err, diff)
		}
		read, err := w.typeClient.GetAppointmentType(w.ctx, &bookingv1.GetAppointmentTypeRequest{Id: w.massage.GetId()})
		if diff := cmp.Diff(want, read.GetAppointmentType(), protocmp.Transform()); err != nil || diff != "" {
			t.Error(err, diff)
		}
		if n := w.published(subjectEventUpdated); n != 0 {
			t.Errorf("an event that is not listed was announced %d times", n)
		}
	})
	t.Run("a change to the present values changes nothing", func(t *testing.T) {
		w := newClinic(t)
		m := w.massage
		got, err := w.change(&bookingv1.UpdateAppointmentTypeRequest{
			Title: &m.Title, Lengths: m.GetLengths(), Staff: &bookingv1.StaffChoice{StaffIds: []string{w.bo.GetId(), w.ada.GetId()}}, Rooms: &bookingv1.RoomRequirements{Rooms: m.GetRooms()},
			Prices: []*bookingv1.AppointmentPriceChange{{Option: &bookingv1.PricingOptionChange{Id: w.thirty, Name: new("Short")}, LengthMinutes: 30}},
		})
		if diff := cmp.Diff(m, got, protocmp.Transform()); err != nil || diff != "" {
			t.Error(err, diff)
		}
	})
	t.Run("prices are changed, added and ended", func(t *testing.T) {
		w := newClinic(t)
		got, err := w.change(&bookingv1.UpdateAppointmentTypeRequest{Prices: []*bookingv1.AppointmentPriceChange{
			{Option: &bookingv1.PricingOptionChange{Id: w.thirty, Price: new(int64(3500))}},
			{Option: &bookingv1.PricingOptionChange{Id: w.any, Ended: true}},
			{Option: &bookingv1.PricingOptionChange{Name: new("Long"), Price: new(int64(6000))}, LengthMinutes: 60},
		}})
		if err != nil || priced(got) != "Short 3500 GBP for 30, Long 6000 GBP for 60" {
			t.Fatalf("got %s, %v", priced(got), err)
		}
		read, err := w.typeClient.GetAppointmentType(w.ctx, &bookingv1.GetAppointmentTypeRequest{Id: w.massage.GetId()})
		if diff := cmp.Diff(got, read.GetAppointmentType(), protocmp.Transform()); err != nil || diff != "" {
			t.Error(err, diff)
		}
	})
	t.Run("a length is removed together with its price", func(t *testing.T) {
		w := newClinic(t)
		_, err := w.change(&bookingv1.UpdateAppointmentTypeRequest{Lengths: []int32{60, 90}})
		if got := broken(t, err); got != "lengths in_use" {
			t.Error(got)
		}
		got, err := w.change(&bookingv1.UpdateAppointmentTypeRequest{
			Lengths: []int32{90, 60}, Prices: []*bookingv1.AppointmentPriceChange{{Option: &bookingv1.PricingOptionChange{Id: w.thirty, Ended: true}}},
		})
		if err != nil || priced(got) != "Any 5000 GBP for 0" || fmt.Sprint(got.GetLengths()) != "[60 90]" {
			t.Errorf("got %v, %v", got, err)
		}
	})
	t.Run("existing dates keep their zone, and a listed event is announced", func(t *testing.T) {
		w := newClinic(t)
		w.exec(`update events set listed = true`)
		w.exec(`insert into event_dates (company_id, id, event_id, starts_at, duration_minutes, timezone, capacity, booked)
			select company_id, gen_random_uuid(), id, now() + interval '1 day', 30, timezone, 1, 0 from events`)
		got, err := w.change(&bookingv1.UpdateAppointmentTypeRequest{Timezone: new("Asia/Tokyo")})
		if err != nil || got.GetTimezone() != "Asia/Tokyo" {
			t.Fatalf("got %v, %v", got, err)
		}
		if zone := one[string](w.world, `select timezone from event_dates`); zone != "Europe/London" {
			t.Error(zone)
		}
		if n := w.published(subjectEventUpdated); n != 1 {
			t.Errorf("announced %d times", n)
		}
		if _, err := w.change(&bookingv1.UpdateAppointmentTypeRequest{SlotMinutes: new(int32(30))}); err != nil || w.published(subjectEventUpdated) != 1 {
			t.Errorf("a change of the type alone: %v", err)
		}
	})
	t.Run("refusals", func(t *testing.T) {
		w := newClinic(t)
		price := func(length int32, o *bookingv1.PricingOptionChange) *bookingv1.UpdateAppointmentTypeRequest {
			return &bookingv1.UpdateAppointmentTypeRequest{Prices: []*bookingv1.AppointmentPriceChange{{Option: o, LengthMinutes: length}}}
		}
		for _, c := range []struct {
			behaviour, want string
			req             *bookingv1.UpdateAppointmentTypeRequest
		}{
			{"a price keeps its length", "prices[0].length_minutes immutable", price(60, &bookingv1.PricingOptionChange{Id: w.thirty})},
			{"a new price has one of the lengths", "prices[0].length_minutes exists", price(45, &bookingv1.PricingOptionChange{Name: new("x"), Price: new(int64(1))})},
			{"a new price has a name and a price", "prices[0].option.price required, prices[0].option.name required", price(0, nil)},
			{"names are unique", "prices[0].option.name unique", price(0, &bookingv1.PricingOptionChange{Id: w.thirty, Name: new("Any")})},
			{"a length keeps a price", "prices items", price(0, &bookingv1.PricingOptionChange{Id: w.any, Ended: true})},
			{"a change and an end exclude each other", "prices[0].option.ended exclusive", price(0, &bookingv1.PricingOptionChange{Id: w.any, Ended: true, Price: new(int64(1))})},
			{"staff must exist", "staff.staff_ids[0] exists", &bookingv1.UpdateAppointmentTypeRequest{Staff: &bookingv1.StaffChoice{StaffIds: []string{"x"}}}},
			{"rooms must exist", "rooms.rooms[0].any_of[0] exists", &bookingv1.UpdateAppointmentTypeRequest{Rooms: &bookingv1.RoomRequirements{Rooms: []*bookingv1.RoomRequirement{{AnyOf: []string{"x"}}}}}},
			{"the notice has a range", "minimum_notice_minutes range", &bookingv1.UpdateAppointmentTypeRequest{MinimumNoticeMinutes: new(int32(-1))}},
			{"the policy has a range", "free_cancellation_minutes range", &bookingv1.UpdateAppointmentTypeRequest{FreeCancellationMinutes: new(int32(-2))}},
			{"the grid has a range", "slot_minutes range", &bookingv1.UpdateAppointmentTypeRequest{SlotMinutes: new(int32(0))}},
		} {
			t.Run(c.behaviour, func(t *testing.T) {
				_, err := w.change(c.req)
				if got := broken(t, err); got != c.want {
					t.Errorf("got %s, want %s", got, c.want)
				}
			})
		}
		t.Run("a price of another type does not exist", func(t *testing.T) {
			other := w.newType(&bookingv1.CreateAppointmentTypeRequest{})
			_, err := w.change(price(0, &bookingv1.PricingOptionChange{Id: other.GetPrices()[0].GetOption().GetId()}))
			f := wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
			if len(f.Fields) != 1 || f.Fields[0].Field != "prices[0].option.id" {
				t.Errorf("got %v", f.Fields)
			}
		})
		t.Run("a change of an earlier version is refused", func(t *testing.T) {
			_, err := w.change(&bookingv1.UpdateAppointmentTypeRequest{ExpectedVersion: new(int64(7))})
			wantFault(t, err, fault.VersionMismatch, fault.ReasonVersionMismatch)
		})
	})
}

func TestAppointmentTypeList(t *testing.T) {
	t.Parallel()
	w := newClinic(t)
	for _, title := range []string{"B", "C"} {
		w.newType(&bookingv1.CreateAppointmentTypeRequest{Title: title, Inactive: title == "C", StaffIds: []string{w.bo.GetId()}})
	}
	for _, c := range []struct {
		behaviour, want string
		req             *bookingv1.ListAppointmentTypesRequest
	}{
		{"types are ordered by creation", "Massage B C of 3", &bookingv1.ListAppointmentTypesRequest{}},
		{"or in the reverse order", "C B Massage of 3", &bookingv1.ListAppointmentTypesRequest{Order: bookingv1.ResourceOrder_RESOURCE_ORDER_CREATED_DESC}},
		{"active types alone", "Massage B of 2", &bookingv1.ListAppointmentTypesRequest{Active: new(true)}},
		{"types that a person offers", "Massage of 1", &bookingv1.ListAppointmentTypesRequest{StaffId: w.ada.GetId()}},
	} {
		t.Run(c.behaviour, func(t *testing.T) {
			var all []string
			for c.req.PageSize = 1; ; {
				resp, err := w.typeClient.ListAppointmentTypes(w.ctx, c.req)
				if err != nil {
					t.Fatal(err)
				}
				for _, m := range resp.GetAppointmentTypes() {
					all = append(all, m.GetTitle())
				}
				if c.req.PageToken = resp.GetNextPageToken(); c.req.PageToken == "" {
					if got := fmt.Sprint(strings.Join(all, " "), " of ", resp.GetTotal()); got != c.want {
						t.Errorf("got %s, want %s", got, c.want)
					}
					return
				}
			}
		})
	}
	t.Run("a list has what a single type has", func(t *testing.T) {
		resp, err := w.typeClient.ListAppointmentTypes(w.ctx, &bookingv1.ListAppointmentTypesRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(w.massage, resp.GetAppointmentTypes()[0], protocmp.Transform()); diff != "" {
			t.Error(diff)
		}
	})
}
