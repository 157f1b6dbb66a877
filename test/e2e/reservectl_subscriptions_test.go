package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"reservation.dev/devkit/sampledata"
	"reservation.dev/test/harness"
)

// testSubscriptionImports imports customers, a library, plans and subscriptions, as a company does that
// leaves an earlier system, and compares the services afterwards.
func (o operator) testSubscriptionImports(t *testing.T) {
	made := decode[company](t, o.ok(t, "company", "create", "--name", "Moving In", "--timezone", "Europe/London", "--currency", "GBP"))
	in := func(words string, flags ...string) []string {
		return append(append(strings.Fields(words), "--company", made.ID, "-o", "json"), flags...)
	}
	london, err := time.LoadLocation("Europe/London")
	if err != nil {
		t.Fatal(err)
	}
	day := func(days int) string { return time.Now().In(london).AddDate(0, 0, days).Format(time.DateOnly) }
	o.ok(t, in("customer import", o.file(t, "members.csv", "reference,firstname,lastname,email\nC-1,Ada,Lovelace,ada@example.com\nC-2,Grace,Hopper,grace@example.com\n"))...)

	t.Run("media items are imported with their files, and again without sending them", func(t *testing.T) {
		dir := filepath.Join(o.dir, "library")
		if err := os.MkdirAll(filepath.Join(dir, "films"), 0o755); err != nil {
			t.Fatal(err)
		}
		for name, content := range map[string][]byte{"films/breathe.mp4": sampledata.Film(4), "cover.png": sampledata.Cover(1), "lie.mp4": []byte("not a film")} {
			if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		items := filepath.Join("library", "items.csv")
		o.file(t, items, "reference,title,file,cover,collection,tags\nM-1,Breathe,films/breathe.mp4,cover.png,Home practice,calm\nM-2,Lie,lie.mp4,,,\n")
		r := o.run(t, "", in("media import", items)...)
		if sum := decode[imported](t, r.Output); r.Code != 3 || sum.Created != 1 || sum.Refused != 1 {
			t.Fatalf("exit status %d: %s %s", r.Code, r.Output, r.Errors)
		}
		if lines := report(t, filepath.Join(o.dir, "library", "items.refused.csv")); len(lines) != 1 || !strings.Contains(lines[0].Message, "FILE_TYPE_NOT_SUPPORTED") {
			t.Errorf("refused %+v", lines)
		}
		items = o.file(t, filepath.Join("library", "again.csv"), "reference,title,file,cover,collection,tags\nM-1,Breathe,films/breathe.mp4,cover.png,Home practice,calm\n")
		if sum := decode[imported](t, o.ok(t, in("media import", items)...)); sum.Existed != 1 || sum.Read != 1 {
			t.Errorf("got %+v", sum)
		}
	})
	t.Run("plans are imported once", func(t *testing.T) {
		plans := o.file(t, "plans.csv", "title,interval,price,credits,max_rollover,collections\nEight,month,8000,8,4,\nFilms,month,1500,,,Home practice\n")
		for _, want := range []imported{{Read: 2, Created: 2}, {Read: 2, Existed: 2}} {
			if sum := decode[imported](t, o.ok(t, in("plan import", plans)...)); sum != want {
				t.Errorf("got %+v, want %+v", sum, want)
			}
		}
	})
	t.Run("subscriptions are imported once, for customers and plans of the files before", func(t *testing.T) {
		lines := o.file(t, "subscriptions.csv", "reference,customer,plan,period_first_day,start_date,remaining_credits,payment_due\n"+
			fmt.Sprintf("S-1,C-1,Eight,%s,%s,3,false\nS-2,C-2,Films,%s,,,true\nS-3,C-9,Eight,%s,,,\nS-4,C-1,Nine,%s,,,\nS-5,C-1,Eight,%s,,,\n", day(-10), day(-400), day(-5), day(0), day(0), day(3)))
		r := o.run(t, "", in("subscription import", lines)...)
		if sum := decode[imported](t, r.Output); r.Code != 3 || sum.Created != 2 || sum.Refused != 3 {
			t.Fatalf("exit status %d: %s %s", r.Code, r.Output, r.Errors)
		}
		var got []string
		for _, line := range report(t, filepath.Join(o.dir, "subscriptions.refused.csv")) {
			got = append(got, line.Reference+" "+line.Field)
		}
		slices.Sort(got)
		equal(t, "the refused lines", got, []string{"S-3 customer", "S-4 plan", "S-5 period_first_day"})
		if sum := decode[imported](t, o.run(t, "", in("subscription import", lines)...).Output); sum.Existed != 2 || sum.Created != 0 {
			t.Errorf("got %+v", sum)
		}
	})
	t.Run("the subscriber has the credits, and plays the film", func(t *testing.T) { o.checkImportedSubscribers(t, in) })
	t.Run("the passes can be sent again, and nothing differs", func(t *testing.T) {
		if sent := decode[printed](t, o.ok(t, in("subscription restore-passes")...)); sent["subscriptions"] != 1.0 { // the plan Films has no pass
			t.Errorf("got %v", sent)
		}
		harness.Eventually(t, eventLimit, func() error {
			if r := o.run(t, "", in("verify")...); r.Code != 0 {
				return fmt.Errorf("verify: %s%s", r.Output, r.Errors)
			}
			return nil
		})
	})
}

// checkImportedSubscribers checks what the customers have after the imports.
func (o operator) checkImportedSubscribers(t *testing.T, in func(words string, flags ...string) []string) {
	plays := 0
	for _, s := range decode[[]printed](t, o.ok(t, in("subscription list")...)) {
		customer := s["customer_id"].(string)
		if s["plan_title"] == "Eight" {
			harness.Eventually(t, eventLimit, func() error {
				r := o.run(t, "", in("customer-pass get "+s["customer_pass_id"].(string))...)
				if r.Code != 0 || !strings.Contains(r.Output, `"remaining_uses": 3`) {
					return fmt.Errorf("the pass: %s%s", r.Output, r.Errors)
				}
				return nil
			})
			continue
		}
		for _, m := range decode[[]printed](t, o.ok(t, in("media playable "+customer)...)) {
			plays++
			link := decode[printed](t, o.ok(t, in("media playback-link "+m["item"].(printed)["id"].(string)+" "+customer)...))
			res, err := http.Get(link["url"].(string))
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "video/mp4" {
				t.Errorf("%s: %v", res.Status, res.Header)
			}
		}
	}
	if plays != 1 {
		t.Errorf("the subscriber of the films plays %d items", plays)
	}
}
