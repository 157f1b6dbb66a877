package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"reservation.dev/platform/config"
	"reservation.dev/platform/service"
	"reservation.dev/services/directory"
)

// update rewrites the table of settings in the page.
var update = flag.Bool("update", false, "write the settings into docs/OPERATIONS.md")

const (
	operations = "../../docs/OPERATIONS.md"
	tableHead  = "<!-- settings: go test ./deploy/standalone -run TestOperationsPage -update -->\n"
	tableEnd   = "<!-- end of settings -->\n"
)

func TestOperationsPage(t *testing.T) {
	text, err := os.ReadFile(operations)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, opened := strings.Cut(string(text), tableHead)
	table, after, closed := strings.Cut(rest, tableEnd)
	if !opened || !closed {
		t.Fatal("the page has no markers around the table of settings")
	}
	t.Run("the table has every setting of every service, with its default", func(t *testing.T) {
		want := settingsTable()
		if *update {
			if err := os.WriteFile(operations, []byte(before+tableHead+want+tableEnd+after), 0o644); err != nil {
				t.Fatal(err)
			}
			return
		}
		if table != want {
			t.Errorf("the table differs from the code; run this test with -update. The code has\n%s", want)
		}
	})
	t.Run("the page has the order of the ports", func(t *testing.T) {
		for offset, name := range map[int]string{
			portA: "Interface A", portB: "Interface B", portDashboard: "the dashboard", portAuth: "auth", portCustomer: "customer", portBooking: "booking", portPass: "pass", portWebhook: "webhook",
			portPostgres: "PostgreSQL", portAdmin: "operators", portSubscription: "subscription", portMedia: "media", portMediaFiles: "files of media",
			portReports: "reports",
		} {
			if row := fmt.Sprintf("| +%d | %s |", offset, name); !strings.Contains(before, row) {
				t.Errorf("there is no row %q", row)
			}
		}
	})
}

// line is a setting with the programs that have it, with the same default and description.
type line struct {
	config.Setting
	programs []string
}

// settingsTable returns the table of the page, in the order of the programs' own settings tables.
// A setting that is the same in several programs has one row.
func settingsTable() string {
	var lines []*line
	add := func(program string, groups ...any) {
		for _, group := range groups {
			for _, s := range config.Settings(group) {
				lines = appendSetting(lines, s, program)
			}
		}
	}
	add("standalone", Settings{})
	for _, p := range append(parts(), directory.Part()) { // which runs next to a router, not here
		add(p.Name, service.Process{}, p.Settings())
		if p.Migrations != nil {
			add(p.Name, service.Owner{})
		}
	}
	var b strings.Builder
	b.WriteString("| setting | default | used by | meaning |\n|---|---|---|---|\n")
	for _, l := range lines {
		value := l.Default
		switch {
		case l.Required:
			value = "required"
		case value != "":
			value = "`" + value + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", l.Name, value, short(l.programs), l.About)
	}
	return b.String()
}

func appendSetting(lines []*line, s config.Setting, program string) []*line {
	for _, l := range lines {
		if l.Setting == s {
			l.programs = append(l.programs, program)
			return lines
		}
	}
	return append(lines, &line{Setting: s, programs: []string{program}})
}

// short replaces the list of all services, and that of all services with a database, by a phrase.
func short(programs []string) string {
	text := strings.Join(programs, ", ")
	text = strings.Replace(text, "auth, customer, booking, pass, subscription, media, webhook, admin, gateway-a, gateway-b", "all services", 1)
	return strings.Replace(text, "auth, customer, booking, pass, subscription, media, webhook", "services with a database", 1)
}
