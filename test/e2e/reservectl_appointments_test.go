package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// testAppointmentImports imports staff, appointment types and appointments, as a company does that leaves an
// earlier system.
func (o operator) testAppointmentImports(t *testing.T) {
	made := decode[company](t, o.ok(t, "company", "create", "--name", "Calm Hands", "--timezone", "Europe/London", "--currency", "GBP"))
	in := func(words string, flags ...string) []string {
		return append(append(strings.Fields(words), "--company", made.ID, "-o", "json"), flags...)
	}
	o.ok(t, in("customer import", o.file(t, "guests.csv", "reference,firstname,lastname,email\nC-1,Ada,Lovelace,ada@example.com\nC-2,Grace,Hopper,grace@example.com\n"))...)
	for _, room := range []string{"Room 1", "Room 2"} {
		o.ok(t, in("room create", "--name", room)...)
	}
	o.ok(t, in("room create", "--name", "Ultrasound", "--kind", "equipment", "--capacity", "2")...)

	const samples = "../../docs/examples/appointments/"
	absolute := func(name string) string {
		path, err := filepath.Abs(samples + name)
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	refused := filepath.Join(o.dir, "samples.refused.csv")
	t.Run("the sample files are imported once", func(t *testing.T) {
		for _, step := range []struct {
			words, file string
			lines       int
		}{{"staff import", "staff.csv", 3}, {"appointment-type import", "appointment-types.csv", 2}, {"appointment import", "appointments.csv", 2}} {
			for _, want := range []imported{{Read: step.lines, Created: step.lines}, {Read: step.lines, Existed: step.lines}} {
				r := o.run(t, "", in(step.words, absolute(step.file), "--refused", refused)...)
				if sum := decode[imported](t, r.Output); sum != want {
					text, _ := os.ReadFile(refused)
					t.Errorf("%s: got %+v, want %+v\n%s", step.file, sum, want, text)
				}
			}
		}
		staff := decode[[]printed](t, o.ok(t, in("staff list")...))
		hours := decode[printed](t, o.ok(t, in("staff hours "+staff[0]["id"].(string))...))
		if weekly := hours["weekly"].([]any); len(weekly) != 9 {
			t.Errorf("the hours are %v", weekly)
		}
	})
	day := time.Now().AddDate(0, 0, 7).Format(time.DateOnly)
	t.Run("an appointment that overlaps another one is refused with its line", func(t *testing.T) {
		lines := o.file(t, "more.csv", "reference,customer,type,staff,starts_at,length\n"+
			fmt.Sprintf("B-1,C-1,Massage,Ada Byron,%s 10:00,60\nB-2,C-2,Massage,Ada Byron,%s 10:30,60\nB-3,C-9,Massage,Ada Byron,%s 12:00,60\nB-4,C-2,Massage,Bo Lindqvist,%s 10:30,60\n", day, day, day, day))
		if r := o.run(t, "", in("appointment import", lines, "--dry-run")...); r.Code != 3 || decode[imported](t, r.Output).Refused != 1 {
			t.Fatalf("exit status %d: %s %s", r.Code, r.Output, r.Errors)
		}
		r := o.run(t, "", in("appointment import", lines)...)
		if sum := decode[imported](t, r.Output); r.Code != 3 || sum.Created != 2 || sum.Refused != 2 {
			t.Fatalf("exit status %d: %s %s", r.Code, r.Output, r.Errors)
		}
		var got []string
		for _, line := range report(t, filepath.Join(o.dir, "more.refused.csv")) {
			got = append(got, line.Reference)
		}
		slices.Sort(got)
		equal(t, "the refused lines", got, []string{"B-2", "B-3"})
	})
	t.Run("a free slot is booked, moved and cancelled, and nothing differs", func(t *testing.T) {
		kind := decode[[]printed](t, o.ok(t, in("appointment-type list")...))[0]["id"].(string)
		customer := decode[[]printed](t, o.ok(t, in("customer list")...))[0]["id"].(string)
		days := decode[[]printed](t, o.ok(t, in("appointment slots "+kind, "--from", day, "--to", time.Now().AddDate(0, 0, 10).Format(time.DateOnly))...))
		var starts []string
		for _, d := range days {
			slots, _ := d["slots"].([]any)
			for _, slot := range slots {
				starts = append(starts, slot.(printed)["starts_at"].(string))
			}
		}
		if len(starts) < 2 {
			t.Fatalf("the slots are %v", days)
		}
		price := decode[printed](t, o.ok(t, in("appointment-type get "+kind)...))["prices"].([]any)[0].(printed)["option"].(printed)["id"].(string)
		booked := decode[printed](t, o.ok(t, in("appointment book "+kind+" "+customer, "--starts-at", starts[0], "--pricing-option-id", price)...))
		id := booked["id"].(string)
		o.ok(t, in("appointment move "+id, "--starts-at", starts[len(starts)-1], "--any-staff")...)
		if now := decode[printed](t, o.ok(t, in("appointment get "+id)...)); now["booking"].(printed)["starts_at"] != starts[len(starts)-1] {
			t.Errorf("moved to %v", now)
		}
		o.ok(t, in("registration cancel "+id)...)
		if now := decode[printed](t, o.ok(t, in("appointment get "+id)...)); now["status"] != "cancelled" {
			t.Errorf("got %v", now)
		}
		o.ok(t, in("verify")...)
	})
}
