package browser

import (
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// classOf is a class of a teacher, whom an administrator is linked to.
type classOf struct{ staff, title, date, guest string }

// teach adds a staff member with a class that one customer has booked. It starts so late that it can be booked on a slow
// machine, and that it is not a class of yesterday when its teacher signs in after midnight.
func (w *world) teach(t *testing.T, name string) classOf {
	t.Helper()
	ctx := w.company.Ctx(t.Context())
	staff, err := w.op.Staff.CreateStaffMember(ctx, &bookingv1.CreateStaffMemberRequest{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	c := classOf{staff: staff.GetStaffMember().GetId(), title: "Class of " + name, guest: "Guest of " + name}
	event, err := w.op.Events.CreateEvent(ctx, &bookingv1.CreateEventRequest{
		Title: c.title, StaffAndRooms: &bookingv1.StaffAndRooms{StaffIds: []string{c.staff}},
		Dates:          []*bookingv1.NewEventDate{{StartsAt: timestamppb.New(time.Now().Add(5 * time.Minute).Truncate(time.Second)), DurationMinutes: 60}},
		PricingOptions: []*bookingv1.NewPricingOption{{Name: "Adult", Price: 1200}},
	})
	if err != nil {
		t.Fatal(err)
	}
	c.date = event.GetEvent().GetDates()[0].GetId()
	guest, err := w.op.Customers.CreateCustomer(ctx, &customerv1.CreateCustomerRequest{FirstName: c.guest, LastName: "Rose", Email: strings.ReplaceAll(c.guest, " ", ".") + "@example.com"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.op.Bookings.CreateTransaction(ctx, &bookingv1.CreateTransactionRequest{
		PurchaserId: guest.GetCustomer().GetId(), Lines: []*bookingv1.TransactionLine{{EventDateId: c.date, Spaces: 1}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// signedInAs opens a tab with a session of a new administrator.
func (w *world) signedInAs(t *testing.T, role authv1.AdministratorRole, staff string) *tab {
	t.Helper()
	const password = "nine ladies dancing"
	email := strings.ToLower(role.String()) + staff + "@example.com"
	_, err := w.op.Administrators.CreateAdministrator(w.company.Ctx(t.Context()), &authv1.CreateAdministratorRequest{
		Email: email, Name: "Robin", Password: password, Role: role, StaffId: staff,
	})
	if err != nil {
		t.Fatal(err)
	}
	b := w.tab(t)
	b.open("/sign-in")
	b.signIn(email, password)
	return b
}

// teacherPlaces signs a teacher in, and returns their pages.
func (w *world) teacherPlaces(t *testing.T) (*tab, []place) {
	t.Helper()
	c := w.teach(t, "Tess")
	b := w.signedInAs(t, authv1.AdministratorRole_ADMINISTRATOR_ROLE_TEACHER, c.staff)
	return b, []place{{"a teacher's classes", "/my-classes"}, {"a teacher's class", "/my-classes/" + c.date}}
}

func (w *world) testRoles(t *testing.T) { // invariant 1
	hers, his := w.teach(t, "Hana"), w.teach(t, "Iwan")
	for role, menu := range map[authv1.AdministratorRole]string{
		authv1.AdministratorRole_ADMINISTRATOR_ROLE_OWNER: "Today Week Appointments Events Customers Pass types Plans Subscriptions Library Appointment types " +
			"Staff and rooms Discount codes Reports Export and import data API Clients API Keys Publishable Keys Requests Webhooks Payments due Test mode Company Administrators Audit log Documentation",
		authv1.AdministratorRole_ADMINISTRATOR_ROLE_MANAGER: "Today Week Appointments Events Customers Pass types Plans Subscriptions Library Appointment types " +
			"Staff and rooms Discount codes Reports Export and import data Documentation",
		authv1.AdministratorRole_ADMINISTRATOR_ROLE_FRONT_DESK: "Today Week Appointments Events Customers Subscriptions Documentation",
		authv1.AdministratorRole_ADMINISTRATOR_ROLE_TEACHER:    "My classes Documentation",
	} {
		staff := ""
		if role == authv1.AdministratorRole_ADMINISTRATOR_ROLE_TEACHER {
			staff = hers.staff
		}
		b := w.signedInAs(t, role, staff)
		b.step("shows the menu of "+role.String(), func(t *testing.T) {
			if got := b.now(`[...document.querySelectorAll(".side nav li a")].map(a => a.textContent.trim()).join(" ")`); !sameWords(got, menu) {
				t.Errorf("the menu is %s, want %s", got, menu)
			}
			b.quiet()
		})
		if staff == "" {
			continue
		}
		b.step("lets a teacher check in on their own class only", func(t *testing.T) {
			b.says(hers.title)
			if strings.Contains(b.text(), his.title) {
				t.Error("shows the class of somebody else")
			}
			b.open("/my-classes/" + hers.date)
			b.says(hers.guest, "0 of 1 have come")
			b.follow("Check in " + hers.guest + " Rose")
			b.says("1 of 1 have come")
			if address := strings.ReplaceAll(hers.guest, " ", ".") + "@example.com"; strings.Contains(b.text(), address) {
				t.Error("shows an address")
			}
			b.quiet()
			if status := b.open("/my-classes/" + his.date); status != 404 {
				t.Errorf("the class of somebody else is answered %d", status)
			}
			if status := b.open("/customers"); status != 403 {
				t.Errorf("the customers are answered %d", status)
			}
			b.takeProblems()
		})
	}
}

// sameWords reports whether two texts have the same words in the same order.
func sameWords(a, b string) bool { return slices.Equal(strings.Fields(a), strings.Fields(b)) }
