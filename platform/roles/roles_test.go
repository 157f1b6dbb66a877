package roles

import (
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"reservation.dev/platform/scopes"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

func TestTable(t *testing.T) { // invariants 1 to 3
	t.Parallel()
	seen := map[Capability]bool{}
	for _, e := range Table() {
		if seen[e.Capability] || !regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`).MatchString(string(e.Capability)) {
			t.Errorf("%q is in the table twice, or is not a name", e.Capability)
		}
		seen[e.Capability] = true
		if len(e.Scopes) == 0 || e.About == "" || len(e.Roles) == 0 {
			t.Errorf("%s lacks scopes, a text or a role", e.Capability)
		}
		for _, r := range All() {
			if r.May(e.Capability) != slices.Contains(e.Roles, r) {
				t.Errorf("May differs from the table for %s and %s", r, e.Capability)
			}
		}
		for _, more := range [][2]Role{{Owner, Manager}, {Manager, FrontDesk}} {
			if more[1].May(e.Capability) && !more[0].May(e.Capability) {
				t.Errorf("%s may %s, but %s may not", more[1], e.About, more[0])
			}
		}
	}
	if Role("").May(OwnAccount) || len(Role("boss").Scopes()) > 0 {
		t.Error("an unknown role may do something")
	}
}

func TestScopes(t *testing.T) { // invariants 2, 4 and 5
	t.Parallel()
	t.Run("a manager keeps every scope of the former role staff", func(t *testing.T) {
		t.Parallel()
		former := []string{
			scopes.CustomersRead, scopes.CustomersWrite, scopes.ProfileRead, scopes.ProfileWrite, scopes.NotesRead, scopes.NotesWrite,
			scopes.EventsRead, scopes.EventsWrite, scopes.BookingsRead, scopes.BookingsWrite, scopes.RegistrationsRead,
			scopes.RegistrationsWrite, scopes.TransactionsRead, scopes.TransactionsWrite, scopes.HoldsRead, scopes.HoldsWrite,
			scopes.WaitlistRead, scopes.WaitlistWrite, scopes.PassesRead, scopes.PassesWrite, scopes.CustomerPassesRead,
			scopes.CustomerPassesWrite, scopes.DiscountsRead, scopes.DiscountsWrite, scopes.PlansRead, scopes.PlansWrite,
			scopes.SubscriptionsRead, scopes.SubscriptionsWrite, scopes.PlaybackWrite, scopes.MediaRead, scopes.MediaWrite,
			scopes.AppointmentsRead, scopes.AppointmentsWrite, scopes.AppointmentTypesRead, scopes.AppointmentTypesWrite,
			scopes.CalendarsRead, scopes.CalendarsWrite, scopes.RoomsRead, scopes.RoomsWrite, scopes.StaffRead, scopes.StaffWrite,
			scopes.AuditWrite, scopes.TestModeRead,
		}
		for _, scope := range former {
			if !slices.Contains(Manager.Scopes(), scope) {
				t.Errorf("a manager has lost %s", scope)
			}
		}
	})
	t.Run("an owner keeps every scope of the settings, and nobody else has one", func(t *testing.T) {
		t.Parallel()
		settings := []string{
			scopes.CompanyRead, scopes.CompanyWrite, scopes.APIClientsRead, scopes.APIClientsWrite, scopes.APIKeysRead,
			scopes.APIKeysWrite, scopes.ServiceCredentialsRead, scopes.ServiceCredentialsWrite, scopes.WebhooksRead, scopes.WebhooksWrite,
			scopes.AdministratorsRead, scopes.AdministratorsWrite, scopes.AuditRead, scopes.PrivacyRead, scopes.PrivacyWrite,
			scopes.RequestsRead, scopes.TestModeWrite,
		}
		for _, scope := range settings {
			for _, r := range All() {
				if slices.Contains(r.Scopes(), scope) != (r == Owner) {
					t.Errorf("%s: %s is wrong", r, scope)
				}
			}
		}
	})
	t.Run("the front desk edits no events, prices, passes, subscriptions, staff or library, and exports nothing", func(t *testing.T) {
		t.Parallel()
		for _, scope := range []string{
			scopes.EventsWrite, scopes.DiscountsWrite, scopes.PassesWrite, scopes.PlansWrite, scopes.MediaWrite, scopes.PlaybackWrite,
			scopes.StaffWrite, scopes.RoomsWrite, scopes.AppointmentTypesWrite, scopes.CalendarsWrite, scopes.CustomerPassesWrite,
			scopes.CustomersWrite, scopes.SubscriptionsWrite, scopes.BookingsWrite, scopes.BookingsRead, scopes.AppointmentsWrite,
			scopes.ReportsRead,
		} {
			if slices.Contains(FrontDesk.Scopes(), scope) {
				t.Errorf("the front desk has %s", scope)
			}
		}
	})
	t.Run("a teacher has the scopes of their own classes and of the audit log only", func(t *testing.T) {
		t.Parallel()
		want := []string{scopes.AttendanceWrite, scopes.AuditWrite, scopes.OwnClassesRead}
		if got := Teacher.Scopes(); !slices.Equal(got, want) {
			t.Errorf("got %v", got)
		}
	})
}

func TestMessages(t *testing.T) {
	t.Parallel()
	for _, r := range All() {
		if Of(r.Message()) != r {
			t.Errorf("%s is read as %q", r, Of(r.Message()))
		}
	}
	if r := Of(authv1.AdministratorRole_ADMINISTRATOR_ROLE_STAFF); r != Manager {
		t.Errorf("staff of an earlier release are %q", r)
	}
	if r := Of(authv1.AdministratorRole_ADMINISTRATOR_ROLE_UNSPECIFIED); r != "" {
		t.Errorf("no role is %q", r)
	}
}

// update rewrites the table of roles in the page.
var update = flag.Bool("update", false, "write the table of roles into docs/DASHBOARD.md")

const (
	page      = "../../docs/DASHBOARD.md"
	tableHead = "<!-- roles: go test ./platform/roles -run TestDashboardPage -update -->\n"
	tableEnd  = "<!-- end of roles -->\n"
)

func TestDashboardPage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, opened := strings.Cut(string(text), tableHead)
	table, after, closed := strings.Cut(rest, tableEnd)
	if !opened || !closed {
		t.Fatal("the page has no markers around the table of roles")
	}
	want := pageTable()
	if *update {
		if err := os.WriteFile(page, []byte(before+tableHead+want+tableEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if table != want {
		t.Errorf("the table differs from the code; run this test with -update. The code has\n%s", want)
	}
}

// pageTable returns the table of the page.
func pageTable() string {
	var b strings.Builder
	b.WriteString("| may | owner | manager | front desk | teacher |\n|---|---|---|---|---|\n")
	for _, e := range Table() {
		b.WriteString("| " + e.About + " |")
		for _, r := range All() {
			if r.May(e.Capability) {
				b.WriteString(" yes |")
			} else {
				b.WriteString("  |")
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}
