package admin

import (
	"strconv"

	"google.golang.org/protobuf/types/known/timestamppb"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// staffView is a person who gives appointments or teaches classes, as a page shows it.
type staffView struct{ *bookingv1.StaffMember }

// Path is the path of the person's page.
func (s staffView) Path() string { return "/staff/" + s.GetId() }

// State says whether the person gets new appointments and classes.
func (s staffView) State() stateTag { return activity(s.GetActive()) }

// activity returns the status of a person, a room or an appointment type.
func activity(active bool) stateTag {
	if active {
		return stateTag{"good", msg("desk.state.active")}
	}
	return stateTag{"warn", msg("appointments.state.inactive")}
}

// resourcesMost is the largest number of people, rooms or appointment types that a choice offers.
const resourcesMost = 200

// people returns the company's first resourcesMost people, in the order in which they were added.
func (r *request) people() ([]staffView, error) {
	res, err := r.services.staff.ListStaff(r.ctx, &bookingv1.ListStaffRequest{PageSize: resourcesMost})
	return views(res.GetStaff(), func(s *bookingv1.StaffMember) staffView { return staffView{s} }), err
}

// active returns the people who get new appointments and classes.
func active(all []staffView) []staffView {
	var some []staffView
	for _, s := range all {
		if s.GetActive() {
			some = append(some, s)
		}
	}
	return some
}

// staffOptions returns people as choices, after a choice for no particular person.
func staffOptions(all []staffView, anyone string) []option {
	options := []option{{"", anyone}}
	for _, s := range all {
		options = append(options, option{s.GetId(), s.GetName()})
	}
	return options
}

// staffPage is the list of people.
type staffPage struct {
	Staff []staffView
	Total int64
	Next  string
}

func (staffPage) head() (*message, string) { return msg("appointments.staff.title"), "staff" }

func (r *request) staffList() error {
	res, err := r.services.staff.ListStaff(r.ctx, &bookingv1.ListStaffRequest{PageSize: 50, PageToken: r.query("page")})
	if err != nil {
		return err
	}
	return r.render("staff", staffPage{
		Staff: views(res.GetStaff(), func(s *bookingv1.StaffMember) staffView { return staffView{s} }),
		Total: res.GetTotal(), Next: r.with("page", res.GetNextPageToken()),
	})
}

// staffFormPage adds or changes a person.
type staffFormPage struct {
	Form   *form
	Member *staffView // nil for a new person
	// Hours, TimeOff and Types are shown next to the form.
	Hours   []*message
	TimeOff []timeOffView
	Types   []slotType
}

func (p staffFormPage) head() (*message, string) {
	if p.Member == nil {
		return msg("appointments.staff.add"), "staff"
	}
	return literal(p.Member.GetName()), "staff"
}

// Action is the path of the form.
func (p staffFormPage) Action() string {
	if p.Member == nil {
		return "/staff"
	}
	return p.Member.Path()
}

func (r *request) newStaffMember() error {
	return r.render("staff-member", staffFormPage{Form: newForm("active", "on")})
}

// staffNames are the form's names of the service's fields.
var staffNames = map[string]string{"photo_url": "photo"}

func (r *request) createStaffMember() error {
	f := r.sent(staffNames)
	res, err := submit(r, f, r.services.staff.CreateStaffMember, &bookingv1.CreateStaffMemberRequest{
		Name: f.required("name", msg("desk.field.name")), Email: f.text("email"), PhotoUrl: f.text("photo"), Bio: f.text("bio"), Inactive: f.text("active") == "",
	})
	if err != nil {
		return r.again(err, "staff-member", staffFormPage{Form: f})
	}
	s := res.GetStaffMember()
	r.target(s.GetId())
	r.detail("name", "", s.GetName())
	return r.back("/staff/"+s.GetId()+"/hours", r.text("appointments.staff.added", "name", s.GetName()))
}

func (r *request) findStaffMember() (staffView, error) {
	res, err := r.services.staff.GetStaffMember(r.ctx, &bookingv1.GetStaffMemberRequest{Id: r.path("id")})
	return staffView{res.GetStaffMember()}, err
}

// staffForm returns the page of a person, in three calls.
func (r *request) staffForm(s staffView, f *form) (staffFormPage, error) {
	page := staffFormPage{Form: f, Member: &s}
	hours, err := r.services.staff.GetWorkingHours(r.ctx, &bookingv1.GetWorkingHoursRequest{StaffId: s.GetId()})
	if err != nil {
		return page, err
	}
	page.Hours = weekText(r.locale, hours.GetHours())
	if page.TimeOff, _, err = r.timeOff(resource{Staff: true, ID: s.GetId()}, 5); err != nil {
		return page, err
	}
	types, err := r.services.types.ListAppointmentTypes(r.ctx, &bookingv1.ListAppointmentTypesRequest{PageSize: resourcesMost, StaffId: s.GetId()})
	page.Types = views(types.GetAppointmentTypes(), func(t *bookingv1.AppointmentType) slotType { return slotType{t} })
	return page, err
}

func (r *request) staffMember() error {
	s, err := r.findStaffMember()
	if err != nil {
		return err
	}
	f := newForm("name", s.GetName(), "email", s.GetEmail(), "photo", s.GetPhotoUrl(), "bio", s.GetBio(), "color", s.GetColor())
	if s.GetActive() {
		f.values.Set("active", "on")
	}
	f.setVersion(s.GetVersion())
	page, err := r.staffForm(s, f)
	if err != nil {
		return err
	}
	return r.render("staff-member", page)
}

func (r *request) updateStaffMember() error {
	s, err := r.findStaffMember()
	if err != nil {
		return err
	}
	f := r.sent(staffNames)
	name, email, photo, bio := f.required("name", msg("desk.field.name")), f.text("email"), f.text("photo"), f.text("bio")
	color, on := f.text("color"), f.text("active") != ""
	_, err = submit(r, f, r.services.staff.UpdateStaffMember, &bookingv1.UpdateStaffMemberRequest{
		Id: s.GetId(), Name: &name, Email: &email, PhotoUrl: &photo, Bio: &bio, Color: &color, Active: &on, ExpectedVersion: f.expectedVersion(s.GetVersion()),
	})
	if err != nil {
		if !f.Failed() {
			return err
		}
		page, trouble := r.staffForm(s, f)
		if trouble != nil {
			return trouble
		}
		return r.again(err, "staff-member", page)
	}
	r.detail("name", s.GetName(), name)
	r.detail("email", s.GetEmail(), email)
	r.detail("active", strconv.FormatBool(s.GetActive()), strconv.FormatBool(on))
	return r.back(s.Path(), r.text("shared.done.saved"))
}

// timeOffView is time off as a page shows it.
type timeOffView struct {
	*bookingv1.TimeOff
	clock clock
}

// When says from when to when the time off lasts.
func (t timeOffView) When() *message {
	from, to := t.GetStartsAt().AsTime().In(t.clock.Zone), t.GetEndsAt().AsTime().In(t.clock.Zone)
	if from.YearDay() == to.YearDay() && from.Year() == to.Year() {
		return literal(t.clock.Time(t.GetStartsAt()) + "–" + t.clock.Hour(t.GetEndsAt()))
	}
	return msg("appointments.off.span", "from", t.clock.Time(t.GetStartsAt()), "to", t.clock.Time(t.GetEndsAt()))
}

// resource is a person or a room.
type resource struct {
	Staff    bool
	ID, Name string
}

// Path is the path of its page.
func (x resource) Path() string {
	if x.Staff {
		return "/staff/" + x.ID
	}
	return "/rooms/" + x.ID
}

// timeOff returns the time off of a person or a room that has not ended, and how often there is one.
func (r *request) timeOff(of resource, most int32) ([]timeOffView, int64, error) {
	req := &bookingv1.ListTimeOffRequest{PageSize: most, StartsFrom: timestamppb.New(r.now())}
	if of.Staff {
		req.StaffId = of.ID
	} else {
		req.RoomId = of.ID
	}
	res, err := r.services.staff.ListTimeOff(r.ctx, req)
	return views(res.GetTimeOff(), func(t *bookingv1.TimeOff) timeOffView { return timeOffView{t, r.session.Clock} }), res.GetTotal(), err
}
