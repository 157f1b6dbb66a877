package reservectl

import (
	"context"
	"fmt"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// resourceIndex finds the staff, the rooms or the appointment types of a company. Files can name them by
// identifier, by reference, or by a name that only one of them has.
type resourceIndex struct {
	byReference map[string]string   // identifiers
	byName      map[string][]string // identifiers
	ids         map[string]bool
}

func newResourceIndex() *resourceIndex {
	return &resourceIndex{byReference: map[string]string{}, byName: map[string][]string{}, ids: map[string]bool{}}
}

func (x *resourceIndex) add(id, reference, name string) {
	x.ids[id] = true
	x.byName[name] = append(x.byName[name], id)
	if reference != "" {
		x.byReference[reference] = id
	}
}

// find returns the identifier of the resource that a column names.
func (x *resourceIndex) find(column, named string) (string, error) {
	switch ids := x.byName[named]; {
	case x.ids[named]:
		return named, nil
	case x.byReference[named] != "":
		return x.byReference[named], nil
	case len(ids) == 1:
		return ids[0], nil
	case len(ids) > 1:
		return "", refusal{column, "unique", fmt.Sprintf("%q is the name of %d: give the reference or the identifier", named, len(ids))}
	}
	return "", refusal{column, "exists", fmt.Sprintf("%q does not exist", named)}
}

// findAll returns the identifiers of several resources.
func (x *resourceIndex) findAll(column string, named []string) ([]string, error) {
	var ids []string
	for _, one := range named {
		id, err := x.find(column, one)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// fetchStaff returns the staff of the company, and the index of them.
func fetchStaff(ctx context.Context, client bookingv1.StaffServiceClient) (map[string]*bookingv1.StaffMember, *resourceIndex, error) {
	staff, err := allPages(func(pageToken string) ([]*bookingv1.StaffMember, string, error) {
		res, err := client.ListStaff(ctx, &bookingv1.ListStaffRequest{PageSize: pageSize, PageToken: pageToken})
		return res.GetStaff(), res.GetNextPageToken(), err
	})
	byReference, x := map[string]*bookingv1.StaffMember{}, newResourceIndex()
	for _, m := range staff {
		x.add(m.GetId(), m.GetReference(), m.GetName())
		byReference[m.GetReference()] = m
	}
	delete(byReference, "")
	return byReference, x, err
}

func fetchRooms(ctx context.Context, client bookingv1.RoomServiceClient) (*resourceIndex, error) {
	rooms, err := allPages(func(pageToken string) ([]*bookingv1.Room, string, error) {
		res, err := client.ListRooms(ctx, &bookingv1.ListRoomsRequest{PageSize: pageSize, PageToken: pageToken})
		return res.GetRooms(), res.GetNextPageToken(), err
	})
	x := newResourceIndex()
	for _, r := range rooms {
		x.add(r.GetId(), r.GetReference(), r.GetName())
	}
	return x, err
}

func fetchAppointmentTypes(ctx context.Context, client bookingv1.AppointmentTypeServiceClient) (*resourceIndex, error) {
	types, err := allPages(func(pageToken string) ([]*bookingv1.AppointmentType, string, error) {
		res, err := client.ListAppointmentTypes(ctx, &bookingv1.ListAppointmentTypesRequest{PageSize: pageSize, PageToken: pageToken})
		return res.GetAppointmentTypes(), res.GetNextPageToken(), err
	})
	x := newResourceIndex()
	for _, t := range types {
		x.add(t.GetId(), t.GetReference(), t.GetTitle())
	}
	return x, err
}
