package failover

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	"reservation.dev/test/harness"
)

// auditLimit is how long the platform may take to finish the work that follows from the requests.
const auditLimit = 2 * time.Minute

// audit compares what was acknowledged with what the platform has.
func (w *world) audit(t *testing.T) {
	t.Run("every acknowledged registration exists once, and no other", w.auditRegistrations)
	t.Run("every acknowledged pass exists once, with the credits that are left", w.auditPasses)
	t.Run("no class has more participants than spots", w.auditCapacity)
	t.Run("every webhook was delivered, with one identifier", w.auditWebhooks)
	t.Run("the stream of events has every event once", w.auditEvents)
	t.Run("the stored numbers are right", w.auditNumbers)
}

// read reads a document of Interface B.
func (w *world) read(t *testing.T, path string, v any) {
	t.Helper()
	w.traffic.gateways.b[0].Do(t, harness.Request{Path: path, Token: w.traffic.tokenB}).Into(t, http.StatusOK, v)
}

// pages calls read with the path of each page of a list, until read returns no cursor.
func pages(path string, read func(path string) (next string)) {
	separator := "?"
	if strings.Contains(path, "?") {
		separator = "&"
	}
	path += separator + "perPage=100"
	for next := read(path); next != ""; {
		next = read(path + "&cursor=" + next)
	}
}

func (w *world) auditRegistrations(t *testing.T) {
	seen := map[string]bool{}
	pages("/registrations", func(path string) string {
		var page struct {
			Registrations []struct{ ID, EventID, Status string }
			NextCursor    string
		}
		w.read(t, path, &page)
		for _, r := range page.Registrations {
			want := w.traffic.registrations[r.ID]
			switch {
			case want == nil:
				t.Errorf("nobody was told about the registration %s", r.ID)
			case seen[r.ID]:
				t.Errorf("the registration %s is listed twice", r.ID)
			case want.cancelled != (r.Status == "cancelled"):
				t.Errorf("the registration %s is %s, but cancelled is %t", r.ID, r.Status, want.cancelled)
			}
			seen[r.ID] = true
		}
		return page.NextCursor
	})
	for id := range w.traffic.registrations {
		if !seen[id] {
			t.Errorf("the acknowledged registration %s is lost", id)
		}
	}
	if len(seen) == 0 {
		t.Error("there are no registrations")
	}
}

func (w *world) auditPasses(t *testing.T) {
	seen := map[string]bool{}
	pages("/customer-passes", func(path string) string {
		var page struct {
			CustomerPasses []struct {
				ID            string
				RemainingUses int
			}
			NextCursor string
		}
		w.read(t, path, &page)
		for _, p := range page.CustomerPasses {
			left, known := w.traffic.passes[p.ID]
			switch {
			case !known:
				t.Errorf("nobody was told about the pass %s", p.ID)
			case left != p.RemainingUses:
				t.Errorf("the pass %s has %d uses left, not %d", p.ID, p.RemainingUses, left)
			}
			seen[p.ID] = true
		}
		return page.NextCursor
	})
	for id := range w.traffic.passes {
		if !seen[id] {
			t.Errorf("the acknowledged pass %s is lost", id)
		}
	}
}

func (w *world) auditCapacity(t *testing.T) {
	for event, capacity := range map[string]int{w.traffic.open: 0, w.traffic.small: smallCapacity} {
		taken := 0
		for _, r := range w.traffic.registrations {
			if r.event == event && !r.cancelled {
				taken++
			}
		}
		var got struct{ SpotsTaken int }
		w.read(t, "/events/"+event, &got)
		if got.SpotsTaken != taken || capacity > 0 && taken > capacity {
			t.Errorf("%d spots are taken, and %d registrations hold one; the capacity is %d", got.SpotsTaken, taken, capacity)
		}
	}
}

// auditWebhooks waits until the mailbox has a message for everything that was acknowledged.
func (w *world) auditWebhooks(t *testing.T) {
	want := map[string]bool{}
	for id, r := range w.traffic.registrations {
		want["registration.created "+id] = true
		if r.cancelled {
			want["registration.cancelled "+id] = true
		}
	}
	for id := range w.traffic.passes {
		want["pass.purchased "+id] = true
	}
	harness.Eventually(t, auditLimit, func() error {
		accepted := map[string]bool{}
		for _, m := range w.mailbox.Mail() {
			if m.Accepted {
				accepted[subject(t, m)] = true
			}
		}
		missing := 0
		for about := range want {
			if !accepted[about] {
				missing++
			}
		}
		if missing > 0 {
			return fmt.Errorf("%d of %d webhooks are missing", missing, len(want))
		}
		return nil
	})
	messages, about := map[string]string{}, map[string]string{}
	for _, m := range w.mailbox.Mail() {
		s := subject(t, m)
		if !want[s] {
			t.Errorf("a webhook says %s, which nobody was told", s)
		}
		if id := messages[s]; id != "" && id != m.ID {
			t.Errorf("%s was announced as %s and as %s", s, id, m.ID)
		}
		if other := about[m.ID]; other != "" && other != s {
			t.Errorf("message %s was about %s and about %s", m.ID, other, s)
		}
		messages[s], about[m.ID] = m.ID, s
	}
	t.Logf("%d webhooks, %d requests", len(messages), len(w.mailbox.Mail()))
}

var bookingID = regexp.MustCompile(`booking_[0-9a-z]{26}`)

// auditEvents compares the stream of events with what was acknowledged. A sequence without a
// message would be an event that NATS lost.
func (w *world) auditEvents(t *testing.T) {
	ids, bookings := map[string]bool{}, map[string]bool{}
	for _, e := range w.Events(t) {
		if ids[e.ID] {
			t.Errorf("the event %s is in the stream twice", e.ID)
		}
		ids[e.ID] = true
		for _, booking := range bookingID.FindAllString(string(e.Payload), -1) {
			bookings[booking] = true
		}
	}
	for id := range w.traffic.registrations {
		if !bookings["booking_"+strings.TrimPrefix(id, "reg_")] {
			t.Errorf("the stream has no event of the registration %s", id)
		}
	}
	for _, info := range w.streams(t) {
		state := info.State
		if info.Config.Name == "RESERVATION_EVENTS" && (state.NumDeleted > 0 || state.LastSeq-state.FirstSeq+1 != state.Msgs) {
			t.Errorf("the stream %s has gaps: %+v", info.Config.Name, state)
		}
		if fmt.Sprint(info.Config.Replicas) != replicas || info.Cluster == nil || len(info.Cluster.Replicas) != machineCount-1 {
			t.Errorf("the stream %s has %d copies: %+v", info.Config.Name, info.Config.Replicas, info.Cluster)
			continue
		}
		for _, r := range info.Cluster.Replicas {
			if !r.Current || r.Offline {
				t.Errorf("a copy of the stream %s is not current: %+v", info.Config.Name, r)
			}
		}
	}
}

// streams returns all streams.
func (w *world) streams(t *testing.T) []*jetstream.StreamInfo {
	t.Helper()
	nc, err := nats.Connect(w.engines.natsURL())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	list := js.ListStreams(t.Context())
	var all []*jetstream.StreamInfo
	for info := range list.Info() {
		all = append(all, info)
	}
	if err := list.Err(); err != nil || len(all) < 3 {
		t.Fatalf("%d streams: %v", len(all), err)
	}
	return all
}

// auditNumbers runs the operator's commands until they find nothing. Work in progress can look like
// a difference.
func (w *world) auditNumbers(t *testing.T) {
	issued, err := w.Operator(t).Tokens.IssueToken(t.Context(), &authv1.IssueTokenRequest{
		ClientId: w.OperatorCredential.ID, ClientSecret: w.OperatorCredential.Secret,
	})
	if err != nil {
		t.Fatal(err)
	}
	services := []string{"--company", w.company.ID, "--customer", w.Customer, "--booking", w.Booking, "--pass", w.Pass,
		"--subscription", w.Subscription, "--customer", w.Customer, "--media", w.Media, "--reports", w.Reports}
	run := func(command ...string) harness.Result {
		return harness.Run(t, harness.Command{
			Program: "reservectl", Args: append(command, services...), Env: map[string]string{"RESERVATION_TOKEN": issued.GetAccessToken()},
		})
	}
	harness.Eventually(t, auditLimit, func() error {
		for _, command := range [][]string{{"verify"}, {"reconcile", "--settle", "1s"}} {
			if r := run(command...); r.Code != 0 {
				return fmt.Errorf("%s: %s%s", command[0], r.Output, r.Errors)
			}
		}
		return nil
	})
	t.Log(strings.TrimSpace(run("verify").Errors))
}

// subject returns what a webhook is about: its event, and the registration or pass.
func subject(t *testing.T, m harness.Mail) string {
	t.Helper()
	var data struct{ ID, RegistrationID, CustomerPassID string }
	if err := json.Unmarshal(m.Data, &data); err != nil {
		t.Fatalf("%s: %v", m.ID, err)
	}
	named := map[string]string{"registration.created": data.RegistrationID, "registration.cancelled": data.ID, "pass.purchased": data.CustomerPassID}[m.Event]
	if named == "" {
		t.Fatalf("%s is a %s about nothing: %s", m.ID, m.Event, m.Data)
	}
	return m.Event + " " + named
}
