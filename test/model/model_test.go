package model

import (
	"context"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"reservation.dev/devkit/pgserver"
	"reservation.dev/devkit/testkit/openapitest"
	"reservation.dev/test/harness"
)

// soon is how long a test waits for what the platform does a moment later, also on a loaded machine.
const soon = time.Minute

// usualChecks limits the test to about twenty seconds unless more checks are requested.
const usualChecks = "12"

func TestInterfaceB(t *testing.T) {
	p := newPlatform(t)
	check(t, usualChecks, "30", func(r *rapid.T) {
		m := p.newMachine(r)
		r.Repeat(m.actions())
	})
}

// check runs random sequences: so many, with so many steps, unless the command line says otherwise.
func check(t *testing.T, checks, steps string, run func(*rapid.T)) {
	for name, value := range map[string]string{"rapid.checks": checks, "rapid.steps": steps} {
		if f := flag.Lookup(name); !given(name) {
			if err := f.Value.Set(value); err != nil {
				t.Fatal(err)
			}
		}
	}
	rapid.Check(t, run)
}

// given reports whether a flag is set on the command line.
func given(name string) bool {
	return slices.ContainsFunc(os.Args[1:], func(arg string) bool {
		set, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		return set == name
	})
}

// newPlatform starts the platform with a PostgreSQL server of its own, in which a test can end holds.
func newPlatform(t *testing.T) *platform {
	postgres := harness.StartPostgres(t, filepath.Join(harness.TempDir(t), "postgres"), pgserver.Fast)
	s := harness.StartStandalone(t, harness.StandaloneOptions{Env: map[string]string{"LOG_LEVEL": "warn", "DATABASE_URL": postgres.AdminURL()}})
	text, err := os.ReadFile("../../gateway-b/openapi/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := pgx.ParseConfig(postgres.AdminURL())
	if err != nil {
		t.Fatal(err)
	}
	cfg.Database = "reservation_booking"
	db, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close(context.Background()) })
	return &platform{
		t: t, s: s, op: s.Operator(t), db: db, contract: openapitest.Load(t, text, "/api/v1"), rules: rules(t), sent: map[string]bool{},
	}
}

// rules returns the values of details.rule that docs/ERRORS.md explains.
func rules(t *testing.T) map[string]bool {
	text, err := os.ReadFile("../../docs/ERRORS.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "\n## Rules\n")
	table, _, _ := strings.Cut(after, "\n## ")
	all := map[string]bool{}
	for _, row := range regexp.MustCompile(`(?m)^\| ([^|]*) \|`).FindAllStringSubmatch(table, -1) {
		for _, name := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(row[1], -1) {
			all[name[1]] = true
		}
	}
	if len(all) < 10 {
		t.Fatalf("ERRORS.md has only %d rules", len(all))
	}
	return all
}

// platform is the state that all runs share.
type platform struct {
	t        *testing.T
	s        *harness.Standalone
	op       *harness.Operator
	db       *pgx.Conn // the booking service's
	contract *openapitest.Contract
	// rules are the rules that ERRORS.md lists.
	rules map[string]bool
	// sent holds the kinds of invalid requests whose bad members were all sent.
	sent map[string]bool
}

// machine is one company: its credentials, and the model's state.
type machine struct {
	*platform
	base, token, key, secret string
	company                  string
	wrongSecrets, keys       int
	hurried                  bool // concurrent requests can be asked to try again

	customers []*customer
	events    []*event
	passes    []*passType
	held      []*customerPass
	regs      []*registration
	purchases []*purchase
	holds     []*hold
	entries   []*entry // in the order in which they joined
	expired   bool     // a hold was let expire
	discounts []*discount
	// full is an event without free spaces. The refusal of a booking shows whether the customer
	// is known.
	full *event
}

// newCompany returns a machine without data.
func (p *platform) newCompany(t failer) *machine {
	company := p.op.NewCompany(p.t, "Europe/London")
	made := harness.Run(p.t, harness.Command{
		Program: "reservectl", Args: []string{"key", "create", "--company", company.ID, "--name", "Model", "--rate-limit", "10000"},
		Env: map[string]string{"RESERVATION_CREDENTIALS": p.s.CredentialsFile()},
	}).Succeeded(p.t)
	var key struct {
		ID     string `json:"api_key"`
		Secret string `json:"api_secret"`
	}
	if err := json.Unmarshal([]byte(made), &key); err != nil {
		t.Fatal(err)
	}
	m := &machine{platform: p, base: p.s.Credentials.InterfaceB.BaseURL, key: key.ID, secret: key.Secret, company: company.ID}
	m.signIn(t)
	return m
}

func (p *platform) newMachine(t *rapid.T) *machine {
	m := p.newCompany(t)
	for _, d := range []*discount{
		{code: "Tenth", basisPoints: 1000}, {code: "FIVER", amount: 500}, {code: "twice", basisPoints: 3333, max: new(2)}, {code: "OLD", amount: 1, over: true},
	} {
		m.addCode(t, d)
	}
	m.addCustomer(t)
	none := 0
	m.full = &event{title: "Full", kind: "class", status: "published", zone: "UTC", duration: 60,
		dates: []*date{{start: time.Date(2099, 1, 1, 9, 0, 0, 0, time.UTC), duration: 60, capacity: &none}}}
	m.addEvent(t, m.full, object{"title": "Full", "timezone": "UTC", "startsAt": "2099-01-01T09:00:00Z", "duration": 60, "capacity": 0})
	return m
}

func (m *machine) signIn(t failer) {
	a := m.call(t, http.MethodPost, "/auth/token", object{"apiKey": m.key, "apiSecret": m.secret}, "Authorization", "")
	a.expect(t, http.StatusOK, fine)
	m.token, _ = a.body["token"].(string)
}

func (m *machine) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"":                     m.check,
		"get a token":          m.getToken,
		"create a customer":    m.addCustomer,
		"update a customer":    m.updateCustomer,
		"delete a customer":    m.deleteCustomer,
		"create an event":      m.createEvent,
		"update an event":      m.updateEvent,
		"cancel an event":      m.cancelEvent,
		"delete an event":      m.deleteEvent,
		"create a pass":        m.createPass,
		"update a pass":        m.updatePass,
		"assign a pass":        m.assignPass,
		"assign another pass":  m.assignPass,
		"update a pass held":   m.updateHeld,
		"book by card":         m.bookByCard,
		"book by card again":   m.bookByCard,
		"book by pass":         m.bookByPass,
		"book by pass again":   m.bookByPass,
		"book too much":        m.bookTooMuch,
		"cancel a booking":     m.cancelBooking,
		"send what is wrong":   m.sendWrong,
		"send what is no JSON": m.sendNoJSON,
		"name what is not":     m.nameMissing,
		"list with nonsense":   m.listWrong,
		"change what changed":  m.sendStale,
	}
}

// getToken requests a token, with a right or a wrong secret.
func (m *machine) getToken(t *rapid.T) {
	if m.wrongSecrets < 2 && rapid.Bool().Draw(t, "wrong") {
		m.wrongSecrets++ // more failures are throttled
		m.call(t, http.MethodPost, "/auth/token", object{"apiKey": m.key, "apiSecret": m.secret[1:] + "x"}, "Authorization", "").
			expect(t, 0, refusal{http.StatusUnauthorized, "INVALID_CREDENTIALS", ""})
		return
	}
	m.signIn(t)
}

// write sends a request that creates or changes something. In some runs it uses an idempotency
// key and repeats the request, which must get the same answer and have no effect, and then sends
// another body with the key, which must be refused.
func (m *machine) write(t *rapid.T, success int, want refusal, method, path string, body object) (answer, bool) {
	if !rapid.Bool().Draw(t, "with a key") {
		a := m.call(t, method, path, body)
		return a, a.expect(t, success, want)
	}
	m.keys++
	key := "model-" + strconv.Itoa(m.keys)
	a := m.call(t, method, path, body, "Idempotency-Key", key)
	if !a.expect(t, success, want) {
		return a, false
	}
	again := m.call(t, method, path, body, "Idempotency-Key", key)
	again.expect(t, success, fine)
	if diff := cmp.Diff(a.body, again.body); diff != "" {
		t.Fatalf("%s repeated with its key (-first +second):\n%s", a.what, diff)
	}
	return a, true
}

// same fails the run unless an answer's body equals the model's. without names members that the
// model does not know.
func (a answer) same(t *rapid.T, got object, want object, without ...string) {
	rest := plain(t, got)
	remove(rest, without)
	if diff := cmp.Diff(plain(t, want), rest); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", a.what, diff)
	}
}

// remove deletes members of an object. "a.b" is the member b of the object a, or of each object in
// the list a.
func remove(from any, names []string) {
	for _, name := range names {
		outer, inner, nested := strings.Cut(name, ".")
		switch v := from.(type) {
		case object:
			if nested {
				remove(v[outer], []string{inner})
			} else {
				delete(v, name)
			}
		case []any:
			for _, item := range v {
				remove(item, []string{name})
			}
		}
	}
}

// choose draws one of the values, each with the same probability: SampledFrom prefers the first ones.
func choose[T any](t *rapid.T, label string, from ...T) T {
	return rapid.Custom(func(t *rapid.T) T {
		n := 0
		for size := 1; size < 8*len(from); size *= 2 {
			n *= 2
			if rapid.Bool().Draw(t, "bit") {
				n++
			}
		}
		return from[n%len(from)]
	}).Draw(t, label)
}

// one draws an element of a list, or returns nil if it is empty.
func one[T any](t *rapid.T, label string, list []*T) *T {
	if len(list) == 0 {
		return nil
	}
	return list[choose(t, label, indices(len(list))...)]
}

func indices(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// seldom is true in one run of n.
func seldom(t *rapid.T, label string, n int) bool { return choose(t, label, indices(n)...) == n-1 }

func optional[T any](t *rapid.T, label string, into object, name string, from ...T) (T, bool) {
	var zero T
	if !rapid.Bool().Draw(t, label) {
		return zero, false
	}
	v := choose(t, name, from...)
	into[name] = v
	return v, true
}
