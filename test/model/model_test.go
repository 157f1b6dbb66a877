package model

import (
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"reservation.dev/devkit/testkit/openapitest"
	"reservation.dev/platform/rpc"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/test/harness"
)

// usualChecks limits the test to about twenty seconds unless more checks are requested.
const usualChecks = "12"

func TestInterfaceB(t *testing.T) {
	s := harness.StartStandalone(t, harness.StandaloneOptions{Env: map[string]string{"LOG_LEVEL": "warn"}})
	text, err := os.ReadFile("../../gateway-b/openapi/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p := &platform{t: t, s: s, op: s.Operator(t), contract: openapitest.Load(t, text, "/api/v1"), rules: rules(t), sent: map[string]bool{}}
	conn, err := rpc.Dial(s.Booking, rpc.DialOptions{Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	p.codes = bookingv1.NewDiscountServiceClient(conn)
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		if err := checks.Value.Set(usualChecks); err != nil {
			t.Fatal(err)
		}
	}
	rapid.Check(t, func(r *rapid.T) {
		m := p.newMachine(r)
		r.Repeat(m.actions())
	})
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
	codes    bookingv1.DiscountServiceClient
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
	wrongSecrets, keys       int

	customers []*customer
	events    []*event
	passes    []*passType
	held      []*customerPass
	regs      []*registration
	discounts map[string]*discount
	// full is an event without free spaces. The refusal of a booking shows whether the customer
	// is known.
	full *event
}

func (p *platform) newMachine(t *rapid.T) *machine {
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
	m := &machine{platform: p, base: p.s.Credentials.InterfaceB.BaseURL, key: key.ID, secret: key.Secret, discounts: map[string]*discount{}}
	m.signIn(t)
	for _, d := range []*discount{
		{code: "Tenth", basisPoints: 1000}, {code: "FIVER", amount: 500}, {code: "twice", basisPoints: 3333, uses: 2, limited: true},
		{code: "OLD", amount: 1, over: true},
	} {
		req := &bookingv1.CreateDiscountCodeRequest{Code: d.code}
		if req.Reduction = (&bookingv1.CreateDiscountCodeRequest_BasisPoints{BasisPoints: d.basisPoints}); d.amount > 0 {
			req.Reduction = &bookingv1.CreateDiscountCodeRequest_Amount{Amount: d.amount}
		}
		if d.limited {
			uses := int32(d.uses)
			req.MaxUses = &uses
		}
		if d.over {
			req.ValidUntil = timestamppb.New(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC))
		}
		if _, err := p.codes.CreateDiscountCode(company.Ctx(p.t.Context()), req); err != nil {
			t.Fatal(err)
		}
		m.discounts[d.code] = d
	}
	m.addCustomer(t)
	none := 0
	m.full = &event{title: "Full", kind: "class", status: "published", zone: "UTC", duration: 60,
		dates: []*date{{start: time.Date(2099, 1, 1, 9, 0, 0, 0, time.UTC), duration: 60, capacity: &none}}}
	m.addEvent(t, m.full, object{"title": "Full", "timezone": "UTC", "startsAt": "2099-01-01T09:00:00Z", "duration": 60, "capacity": 0})
	return m
}

func (m *machine) signIn(t *rapid.T) {
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
	rest := object{}
	for name, value := range got {
		rest[name] = value
	}
	for _, name := range without {
		delete(rest, name)
	}
	if diff := cmp.Diff(plain(t, want), any(rest)); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", a.what, diff)
	}
}

func choose[T any](t *rapid.T, label string, from ...T) T {
	return rapid.SampledFrom(from).Draw(t, label)
}

// one draws an element of a list, or returns nil if it is empty.
func one[T any](t *rapid.T, label string, list []*T) *T {
	if len(list) == 0 {
		return nil
	}
	return rapid.SampledFrom(list).Draw(t, label)
}

func optional[T any](t *rapid.T, label string, into object, name string, from ...T) (T, bool) {
	var zero T
	if !rapid.Bool().Draw(t, label) {
		return zero, false
	}
	v := choose(t, name, from...)
	into[name] = v
	return v, true
}
