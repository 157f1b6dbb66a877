package e2e

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"reservation.dev/test/harness"
)

// TestReservectlDemonstration creates the demonstration company twice on a platform without one.
func TestReservectlDemonstration(t *testing.T) {
	t.Parallel()
	s := harness.StartStandalone(t, harness.StandaloneOptions{})
	op := operator{s: s}
	dir := t.TempDir()
	read := func() (c harness.Credentials) {
		t.Helper()
		op.ok(t, "demonstration", "--dir", dir, "--interface-a", s.BaseURL, "--interface-b", s.Credentials.InterfaceB.BaseURL)
		text, err := os.ReadFile(filepath.Join(dir, "credentials.json"))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &c); err != nil {
			t.Fatal(err)
		}
		return c
	}
	made := read()

	t.Run("the credentials work on both interfaces", func(t *testing.T) {
		a := harness.NewA(t, made.InterfaceA.BaseURL)
		token := a.Token(t, harness.Credential{ID: made.InterfaceA.ClientID, Secret: made.InterfaceA.ClientSecret})
		var page struct{ Total int }
		a.Do(t, harness.Request{Path: "/customers?page=0&pageSize=1", Token: token}).Into(t, 200, &page)
		b := harness.NewB(t, made.InterfaceB.BaseURL)
		b.Token(t, harness.Credential{ID: made.InterfaceB.APIKey, Secret: made.InterfaceB.APISecret})
		if page.Total < 100 || made.Admin.Email == "" || made.Admin.Password == "" {
			t.Errorf("%d customers, the owner is %q", page.Total, made.Admin.Email)
		}
	})
	t.Run("the company has subscriptions in every state and a library, and nothing differs", func(t *testing.T) {
		states := map[string]int{}
		for _, s := range decode[[]printed](t, op.ok(t, "subscription", "list", "--company", made.CompanyID, "-o", "json")) {
			states[s["status"].(string)]++
		}
		want := map[string]int{"active": 6, "trialing": 1, "past_due": 1, "paused": 1, "ending": 1, "ended": 1}
		if !maps.Equal(states, want) { // the payment of one active one is due
			t.Errorf("the subscriptions are %v", states)
		}
		published := decode[[]printed](t, op.ok(t, "media", "list", "--status", "published", "--company", made.CompanyID, "-o", "json"))
		if len(published) != 3 {
			t.Errorf("the library has %v", published)
		}
		op.ok(t, "verify", "--company", made.CompanyID)
	})
	t.Run("the company has staff, rooms and appointments in every state", func(t *testing.T) {
		count := func(words ...string) map[string]int {
			states := map[string]int{}
			for _, item := range decode[[]printed](t, op.ok(t, append(words, "--company", made.CompanyID, "--limit", "0", "-o", "json")...)) {
				state, _ := item["status"].(string)
				states[state]++
			}
			return states
		}
		if staff, rooms, types := count("staff", "list"), count("room", "list"), count("appointment-type", "list"); staff[""] != 3 || rooms[""] != 3 || types[""] != 3 {
			t.Errorf("%v staff, %v rooms, %v types", staff, rooms, types)
		}
		if got := count("appointment", "list", "--status", "held,booked,cancelled"); got["held"] != 1 || got["booked"] != 21+11 || got["cancelled"] != 3+1 {
			t.Errorf("the appointments are %v", got)
		}
	})
	t.Run("a second run creates nothing and renews the token", func(t *testing.T) {
		again := read()
		if again.GRPC.ServiceToken == made.GRPC.ServiceToken || again.GRPC.ServiceToken == "" {
			t.Error("the token was not renewed")
		}
		again.GRPC.ServiceToken = made.GRPC.ServiceToken
		if again != made {
			t.Errorf("got %+v, first %+v", again, made)
		}
		var companies []struct{ ID string }
		if err := json.Unmarshal([]byte(op.ok(t, "company", "list")), &companies); err != nil || len(companies) != 1 {
			t.Errorf("there are %v, %v", companies, err)
		}
	})
}
