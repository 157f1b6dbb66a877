package admin

import (
	"io/fs"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/roles"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// routesByPattern returns the routes of the dashboard.
func routesByPattern() map[string]route {
	all := map[string]route{}
	for _, r := range routes() {
		all[r.pattern] = r
	}
	return all
}

func isCapability(c roles.Capability) bool {
	return slices.ContainsFunc(roles.Table(), func(e roles.Entry) bool { return e.Capability == c })
}

func TestEveryPageIsOpenToTheRolesOfItsCapability(t *testing.T) { // invariant 12
	t.Parallel()
	for _, role := range roles.All() {
		t.Run(string(role), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.play(role)
			w.signIn()
			w.backend.count()
			for _, r := range routes() {
				at, ok := addressOf(r)
				if !ok || r.capability == everybody {
					continue
				}
				if !isCapability(r.capability) {
					t.Errorf("%s has no capability of the table, but %q", r.pattern, r.capability)
				}
				a := w.ask(at)
				switch open := role.May(r.capability); {
				case at.path == home && !open:
					if a.to() != ownClassesPath {
						t.Errorf("%s: %s", r.pattern, describe(a))
					}
				case !open:
					if a.StatusCode != http.StatusForbidden || !strings.Contains(a.body, "Your role cannot open this page") {
						t.Errorf("%s is open to %s: %s", r.pattern, role, describe(a))
					}
					w.onlyAsked(t, at)
				case a.StatusCode == http.StatusForbidden:
					t.Errorf("%s is closed to %s: %s; refused: %v", r.pattern, role, describe(a), w.backend.refused)
				}
				w.backend.count()
			}
			if len(w.backend.refused) > 0 {
				t.Errorf("pages that are open to %s call methods that its token cannot call: %v", role, w.backend.refused)
			}
		})
	}
}

// The table has a capability only if something depends on it.
func TestEveryCapabilityIsUsed(t *testing.T) {
	t.Parallel()
	for _, e := range roles.Table() {
		used := slices.ContainsFunc(routes(), func(r route) bool { return r.capability == e.Capability })
		if !used {
			t.Errorf("no page needs %s", e.Capability)
		}
		if text, err := pagesText(t, capabilityText(e.Capability)); err != nil || text != e.About {
			t.Errorf("the dashboard says %q, %v of %s, and the table %q", text, err, e.Capability, e.About)
		}
	}
}

func pagesText(t *testing.T, m *message) (string, error) {
	t.Helper()
	all, err := embeddedPages()
	if err != nil {
		return "", err
	}
	return all.catalogue.of("en", "GBP").text(m), nil
}

var targets = regexp.MustCompile(`(?:href|action|formaction)="(/[^"]*)"`)

// wantLinksOpen checks that a page leads only to pages and forms that the role can open.
func (w *world) wantLinksOpen(t *testing.T, role roles.Role, path string) {
	t.Helper()
	body := w.page(path)
	known := routesByPattern()
	for _, m := range targets.FindAllStringSubmatch(body, -1) {
		address, _, _ := strings.Cut(m[1], "#")
		address, _, _ = strings.Cut(address, "?")
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			if method == http.MethodPost && !strings.Contains(body, `action="`+m[1]+`"`) {
				continue
			}
			_, pattern := w.web.mux.Handler(&http.Request{Method: method, Host: "x", URL: &url.URL{Path: address}})
			r, ok := known[pattern]
			if ok && pattern != "/" && r.capability != everybody && !role.May(r.capability) {
				t.Errorf("%s: the page %s leads to %s %s, which is closed", role, path, method, m[1])
			}
		}
	}
}

func TestPagesLeadToOpenPages(t *testing.T) { // invariant 12
	t.Parallel()
	t.Run("front desk", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		withSubscription(w)
		s := withSalon(w)
		withDesk(w)
		w.play(roles.FrontDesk)
		w.signIn()
		for _, path := range []string{
			home, "/?day=2020-01-01", "/week", "/week?from=2020-01-06", "/events", "/events/evt_1", "/events/evt_1/dates/date_1", "/bookings/booking_1",
			"/customers", "/customers/cust_1", "/account", "/test-mode", "/appointments", "/appointments?day=" + s.day(),
			"/appointments/week?from=" + s.day(), "/appointments/appt_1", "/subscriptions", "/subscriptions/sub_1", "/sales/new?customer=cust_1",
			"/events/evt_1/dates/date_1/book", "/customers/new", "/bookings/booking_1/cancel",
		} {
			w.wantLinksOpen(t, roles.FrontDesk, path)
		}
		if len(w.backend.refused) > 0 {
			t.Errorf("the services refuse %v", w.backend.refused)
		}
	})
	t.Run("teacher", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		withOwnClass(w)
		w.play(roles.Teacher)
		w.signIn()
		for _, path := range []string{ownClassesPath, ownClassesPath + "/date_1", "/account"} {
			w.wantLinksOpen(t, roles.Teacher, path)
		}
		if len(w.backend.refused) > 0 {
			t.Errorf("the services refuse %v", w.backend.refused)
		}
	})
}

// withDesk answers what the pages of the front desk read in addition to the events.
func withDesk(w *world) {
	on(w.backend, "ListStaff", func(*bookingv1.ListStaffRequest) (*bookingv1.ListStaffResponse, error) {
		return &bookingv1.ListStaffResponse{}, nil
	})
	on(w.backend, "ListSessions", func(*authv1.ListSessionsRequest) (*authv1.ListSessionsResponse, error) {
		return &authv1.ListSessionsResponse{}, nil
	})
}

// withOwnClass adds a class of the teacher with one booking.
func withOwnClass(w *world) {
	date := &bookingv1.OwnDate{Id: "date_1", Title: "Yoga", StartsAt: timestamppb.Now(), DurationMinutes: 60, Booked: 2, Timezone: "Europe/London"}
	booking := &bookingv1.OwnBooking{Id: "booking_1", EventDateId: "date_1", FirstName: "Ann", LastName: "Smith", Spaces: 2, Attendance: bookingv1.Attendance_ATTENDANCE_UNKNOWN}
	on(w.backend, "ListOwnDates", func(*bookingv1.ListOwnDatesRequest) (*bookingv1.ListOwnDatesResponse, error) {
		return &bookingv1.ListOwnDatesResponse{Dates: []*bookingv1.OwnDate{date}}, nil
	})
	on(w.backend, "GetOwnDate", func(req *bookingv1.GetOwnDateRequest) (*bookingv1.GetOwnDateResponse, error) {
		if req.GetId() != "date_1" {
			return nil, fault.Missing("event date")
		}
		return &bookingv1.GetOwnDateResponse{Date: date}, nil
	})
	on(w.backend, "ListOwnBookings", func(*bookingv1.ListOwnBookingsRequest) (*bookingv1.ListOwnBookingsResponse, error) {
		return &bookingv1.ListOwnBookingsResponse{Bookings: []*bookingv1.OwnBooking{booking}, Total: 1}, nil
	})
	on(w.backend, "RecordOwnAttendance", func(req *bookingv1.RecordOwnAttendanceRequest) (*bookingv1.RecordOwnAttendanceResponse, error) {
		booking.Attendance = req.GetAttendance()
		return &bookingv1.RecordOwnAttendanceResponse{Booking: booking, Changed: true}, nil
	})
	on(w.backend, "ListSessions", func(*authv1.ListSessionsRequest) (*authv1.ListSessionsResponse, error) {
		return &authv1.ListSessionsResponse{}, nil
	})
}

func TestTeacher(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	withOwnClass(w)
	w.play(roles.Teacher)
	w.signIn()

	t.Run("sees the own classes and no other menu", func(t *testing.T) {
		body := w.page(ownClassesPath)
		for _, part := range []string{"My classes", "Yoga", `href="/my-classes/date_1"`} {
			if !strings.Contains(body, part) {
				t.Errorf("the page lacks %q", part)
			}
		}
		for _, part := range []string{`href="/customers"`, `href="/events"`, `href="/settings`, `action="/test-mode"`} {
			if strings.Contains(body, part) {
				t.Errorf("the page has %q", part)
			}
		}
	})
	t.Run("checks in, and the audit log has it", func(t *testing.T) {
		w.get(ownClassesPath+"/date_1").must(t, "Ann", "Smith", "2 spaces", "0 of 2 have come")
		if a := w.post(ownClassesPath+"/date_1/attendance", "booking", "booking_1", "attendance", "checked-in"); a.to() != ownClassesPath+"/date_1" {
			t.Fatal(describe(a))
		}
		w.get(ownClassesPath+"/date_1").must(t, "2 of 2 have come", "Undo")
		entry := w.backend.called("RecordAuditEntry")[0].req.(*authv1.RecordAuditEntryRequest)
		if entry.GetAction() != "booking.attendance" || entry.GetTarget() != "booking_1" || entry.GetDetails()[0].GetAfter() != "checked-in" {
			t.Errorf("recorded %v", entry)
		}
	})
	t.Run("a class of somebody else is not found", func(t *testing.T) {
		if a := w.get(ownClassesPath + "/date_2"); a.StatusCode != http.StatusNotFound {
			t.Error(describe(a))
		}
		if a := w.post(ownClassesPath+"/date_1/attendance", "booking", "booking_1", "attendance", "explode"); a.StatusCode != http.StatusNotFound {
			t.Error(describe(a))
		}
	})
	t.Run("leaves test mode when the role does not have it", func(t *testing.T) {
		w.enter(testMode)
		defer w.enter(liveMode)
		if body := w.page("/account"); strings.Contains(body, `class="testing"`) {
			t.Error("the page is in test mode")
		}
	})
}

func TestRolesOfAdministrators(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	tess := &authv1.Administrator{Id: "admin_2", Name: "Tess", Email: "tess@example.com", Role: roles.Teacher.Message(), StaffId: "staff_1"}
	on(w.backend, "ListStaff", func(*bookingv1.ListStaffRequest) (*bookingv1.ListStaffResponse, error) {
		return &bookingv1.ListStaffResponse{Staff: []*bookingv1.StaffMember{{Id: "staff_1", Name: "Tess Hill", Active: true}, {Id: "staff_2", Name: "Gone"}}}, nil
	})
	on(w.backend, "ListAdministrators", func(*authv1.ListAdministratorsRequest) (*authv1.ListAdministratorsResponse, error) {
		return &authv1.ListAdministratorsResponse{Administrators: []*authv1.Administrator{tess}}, nil
	})
	on(w.backend, "ListInvitations", func(*authv1.ListInvitationsRequest) (*authv1.ListInvitationsResponse, error) {
		return &authv1.ListInvitationsResponse{}, nil
	})
	on(w.backend, "GetAdministrator", func(*authv1.GetAdministratorRequest) (*authv1.GetAdministratorResponse, error) {
		return &authv1.GetAdministratorResponse{Administrator: tess}, nil
	})
	on(w.backend, "ListSessions", func(*authv1.ListSessionsRequest) (*authv1.ListSessionsResponse, error) {
		return &authv1.ListSessionsResponse{}, nil
	})
	on(w.backend, "InviteAdministrator", func(*authv1.InviteAdministratorRequest) (*authv1.InviteAdministratorResponse, error) {
		return &authv1.InviteAdministratorResponse{Invitation: &authv1.Invitation{}, Token: "token"}, nil
	})
	on(w.backend, "UpdateAdministrator", func(req *authv1.UpdateAdministratorRequest) (*authv1.UpdateAdministratorResponse, error) {
		return &authv1.UpdateAdministratorResponse{Administrator: &authv1.Administrator{Id: "admin_2", Role: req.GetRole()}}, nil
	})

	t.Run("the form says in one sentence what each role may do", func(t *testing.T) {
		w.get("/settings/administrators").must(t, "May do everything.", "May do everything, except: change the company&#39;s settings, manage API clients",
			"May only: see the schedule, events and appointments, check in", "May only: see their own classes and appointments, and check in there.", "Tess Hill")
	})
	t.Run("a teacher is invited with a staff member, and not without one", func(t *testing.T) {
		if a := w.post("/settings/administrators", "email", "new@example.com", "role", "teacher"); a.StatusCode != http.StatusUnprocessableEntity {
			t.Fatal(describe(a))
		}
		w.post("/settings/administrators", "email", "new@example.com", "role", "teacher", "staff_id", "staff_1").must(t, "/invitation/token")
		req := w.backend.called("InviteAdministrator")[0].req.(*authv1.InviteAdministratorRequest)
		if req.GetRole() != roles.Teacher.Message() || req.GetStaffId() != "staff_1" {
			t.Errorf("sent %v", req)
		}
	})
	t.Run("another role takes the staff member away", func(t *testing.T) {
		a := w.get("/settings/administrators/admin_2")
		a.must(t, "Change role", `value="teacher" checked`, `value="staff_1" selected`)
		if a := w.post("/settings/administrators/admin_2/role", "role", "front_desk", "staff_id", "staff_1"); a.to() != "/settings/administrators/admin_2" {
			t.Fatal(describe(a))
		}
		req := w.backend.called("UpdateAdministrator")[0].req.(*authv1.UpdateAdministratorRequest)
		if req.GetRole() != roles.FrontDesk.Message() || req.StaffId == nil || req.GetStaffId() != "" {
			t.Errorf("sent %v", req)
		}
	})
}

// Templates name capabilities of the table. A wrong name would be an error only when the page is shown.
func TestTemplatesNameCapabilities(t *testing.T) {
	t.Parallel()
	name := regexp.MustCompile(`\.May "([^"]*)"`)
	found := 0
	for _, file := range templateFiles(t) {
		for _, m := range name.FindAllStringSubmatch(file, -1) {
			found++
			if !isCapability(roles.Capability(m[1])) {
				t.Errorf("a template asks for %q", m[1])
			}
		}
	}
	if found < 20 {
		t.Errorf("found only %d", found)
	}
}

// templateFiles returns the text of every template.
func templateFiles(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{"templates/*.html", "templates/shared/*.html"} {
		names, err := fs.Glob(files, pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			body, err := files.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, string(body))
		}
	}
	return all
}
