package additions

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reservation.dev/devkit/testkit/openapitest"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	"reservation.dev/test/harness"
)

type object = map[string]any

const (
	get, post, put, patch, remove = http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete

	// waiting limits how long a test waits for what happens in the background. A loaded machine can need many
	// seconds.
	waiting = 2 * time.Minute
	// manyRequests is a rate limit that no test reaches.
	manyRequests = 10000
)

// platform is the platform under test.
type platform struct {
	*harness.Standalone
	operator *harness.Operator
	a, b     *openapitest.Contract
}

func start(t *testing.T) *platform {
	t.Helper()
	s := harness.StartStandalone(t, harness.StandaloneOptions{})
	return &platform{Standalone: s, operator: s.Operator(t), a: harness.ContractA(t), b: harness.ContractB(t)}
}

// caller is a company's program, which uses Interface B with all permissions.
type caller struct {
	*harness.Face
	p       *platform
	company *harness.Company
	keys    int // the number of Idempotency-Keys that it has used
}

// newCaller returns a caller of a new company in London.
func (p *platform) newCaller(t *testing.T) *caller {
	t.Helper()
	c := &caller{Face: harness.NewFace(t, p.b, p.Credentials.InterfaceB.BaseURL), p: p, company: p.operator.NewCompany(t, "Europe/London")}
	c.Token = c.newKey(t).Token
	return c
}

// newKey returns a client with a new API key of the company; no permissions means all.
func (c *caller) newKey(t *testing.T, permissions ...string) *harness.Face {
	t.Helper()
	return c.As(c.As("").Read(t, 200, post, "/auth/token", c.login(t, permissions...))["token"].(string))
}

// login returns the token request of a new API key.
func (c *caller) login(t *testing.T, permissions ...string) object {
	t.Helper()
	limit := int32(manyRequests)
	made, err := c.p.operator.APIKeys.CreateApiKey(c.company.Ctx(t.Context()), &authv1.CreateApiKeyRequest{Name: "Program", Permissions: permissions, RateLimit: &limit})
	if err != nil {
		t.Fatal(err)
	}
	return object{"apiKey": made.GetApiKey().GetId(), "apiSecret": made.GetApiSecret()}
}

// interfaceA returns a client of Interface A for the caller's company; no scopes means all.
func (c *caller) interfaceA(t *testing.T, scopes ...string) *harness.Face {
	t.Helper()
	client := c.company.NewClient(t, scopes...)
	a := harness.NewFace(t, c.p.a, c.p.Credentials.InterfaceA.BaseURL)
	a.Token = a.Read(t, 200, post, "/token", object{"client_id": client.ID, "client_secret": client.Secret})["access_token"].(string)
	return a
}

// write makes a request twice with one Idempotency-Key, and checks that both answers are the same.
func (c *caller) write(t *testing.T, want int, method, path string, body any) harness.Answer {
	t.Helper()
	c.keys++
	key := fmt.Sprint("key-", c.keys)
	first := c.Send(t, want, method, path, body, "Idempotency-Key", key)
	again := c.Send(t, want, method, path, body, "Idempotency-Key", key)
	for _, name := range []string{"ETag", "Location"} {
		if first.Header.Get(name) != again.Header.Get(name) {
			t.Errorf("%s %s: the retry has the %s %q, not %q", method, path, name, again.Header.Get(name), first.Header.Get(name))
		}
	}
	if diff := cmp.Diff(decode(t, first), decode(t, again)); diff != "" {
		t.Errorf("%s %s: the retry has another answer (-first +retry): %s", method, path, diff)
	}
	return first
}

// resources are the paths of single resources by the prefix of their identifiers.
func resources() map[string]string {
	return map[string]string{
		"cust": "/customers/", "evt": "/events/", "date": "/event-dates/", "reg": "/registrations/", "txn": "/transactions/", "hold": "/holds/",
		"wait": "/waitlist-entries/", "disc": "/discount-codes/", "pass": "/passes/", "cp": "/customer-passes/", "plan": "/plans/", "sub": "/subscriptions/", "media": "/media/", "col": "/media-collections/",
		"ent": "/media-entitlements/", "whe": "/webhook-endpoints/", "staff": "/staff/", "room": "/rooms/", "apt": "/appointment-types/",
		"appt": "/appointments/", "cal": "/calendars/",
	}
}

// path returns the path of the resource with an identifier.
func path(id string) string {
	prefix, _, _ := strings.Cut(id, "_")
	return resources()[prefix] + id
}

// readable checks that an answer is what GET returns.
func (c *caller) readable(t *testing.T, answer object) object {
	t.Helper()
	answer = maps.Clone(answer)
	delete(answer, "secret") // of a new webhook endpoint, which has its own resource
	if diff := cmp.Diff(answer, c.get(t, path(answer["id"].(string)))); diff != "" {
		t.Errorf("GET %s differs from the answer to the write (-write +GET): %s", answer["id"], diff)
	}
	return answer
}

// create makes a POST that creates a resource.
func (c *caller) create(t *testing.T, list string, body object) object {
	t.Helper()
	answer := c.write(t, 201, post, list, body)
	made := decode(t, answer)
	if location := answer.Header.Get("Location"); !strings.HasSuffix(location, made["id"].(string)) {
		t.Errorf("POST %s: Location is %q, and the id %s", list, location, made["id"])
	}
	c.readable(t, made)
	return made
}

// do makes a POST that acts on a resource.
func (c *caller) do(t *testing.T, action string, body any) object {
	t.Helper()
	return c.readable(t, decode(t, c.write(t, 200, post, action, body)))
}

// change makes a PATCH.
func (c *caller) change(t *testing.T, id string, body object) object {
	t.Helper()
	return c.readable(t, decode(t, c.write(t, 200, patch, path(id), body)))
}

func (c *caller) delete(t *testing.T, at string) object {
	t.Helper()
	return decode(t, c.write(t, 200, remove, at, nil))
}

func (c *caller) get(t *testing.T, at string) object {
	t.Helper()
	return c.Read(t, 200, get, at, nil)
}

// list returns the items of a page. Their name is the last part of the path, in camelCase.
func (c *caller) list(t *testing.T, at string) []object {
	t.Helper()
	return items(t, c.get(t, at), collection(at))
}

func collection(at string) string {
	at, _, _ = strings.Cut(at, "?")
	name := ""
	for i, word := range strings.Split(at[strings.LastIndexByte(at, '/')+1:], "-") {
		if i > 0 {
			word = strings.ToUpper(word[:1]) + word[1:]
		}
		name += word
	}
	return name
}

func items(t *testing.T, page object, name string) []object {
	t.Helper()
	list, ok := page[name].([]any)
	if !ok {
		t.Fatalf("the page has no %s: %v", name, page)
	}
	all := make([]object, len(list))
	for i := range list {
		all[i] = list[i].(object)
	}
	return all
}

// lists checks that a list has exactly the items with these identifiers, in any order.
func (c *caller) lists(t *testing.T, at string, want ...string) {
	t.Helper()
	got := ids(c.list(t, at))
	slices.Sort(got)
	if want = slices.Sorted(slices.Values(want)); !slices.Equal(got, want) {
		t.Errorf("GET %s: %v, want %v", at, got, want)
	}
}

func ids(all []object) []string {
	list := make([]string, len(all))
	for i, item := range all {
		list[i] = item["id"].(string)
	}
	return list
}

// refuses checks that a request is answered with 400 and a code.
func (c *caller) refuses(t *testing.T, code, method, at string, body any) {
	t.Helper()
	c.Refused(t, 400, code, method, at, body)
}

func decode(t *testing.T, answer harness.Answer) (v object) {
	t.Helper()
	answer.Into(t, answer.Code, &v)
	return v
}

// has checks members of an object. A name such as "dates.0.id" is a path.
func has(t *testing.T, got object, want object) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if diff := cmp.Diff(plain(t, want[name]), at(got, name)); diff != "" {
			t.Errorf("%s (-want +got): %s in %v", name, diff, got)
		}
	}
}

// at returns the member of an object at a path, or nil.
func at(v any, path string) any {
	for part := range strings.SplitSeq(path, ".") {
		switch node := v.(type) {
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i >= len(node) {
				return nil
			}
			v = node[i]
		case object:
			v = node[part]
		default:
			return nil
		}
	}
	return v
}

// plain returns v as it is decoded from JSON.
func plain(t *testing.T, v any) (decoded any) {
	t.Helper()
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &decoded)
	}
	if err != nil {
		t.Fatal(err)
	}
	return decoded
}

// text returns a member that is a string.
func text(v object, name string) string {
	s, _ := at(v, name).(string)
	return s
}

// becomes waits until a resource has these members, and returns it.
func (c *caller) becomes(t *testing.T, id string, want object) (got object) {
	t.Helper()
	harness.Eventually(t, waiting, func() error {
		got = c.get(t, path(id))
		for name, value := range want {
			if !reflect.DeepEqual(plain(t, value), at(got, name)) {
				return fmt.Errorf("%s is %v", id, got)
			}
		}
		return nil
	})
	return got
}

// in returns the time after d from now, to the second, in UTC.
func in(d time.Duration) string {
	return time.Now().Add(d).UTC().Truncate(time.Second).Format(time.RFC3339)
}

const day = 24 * time.Hour

// recurs makes an event recur by a rule from a week's time, at half past nine in London.
func recurs(rule string) object {
	return object{"startsAt": date(7) + "T09:30:00", "recurrence": object{"rule": rule}}
}

// date returns the date that is a number of days from today in the companies' time zone.
func date(days int) string { return inLondon(time.Now()).AddDate(0, 0, days).Format(time.DateOnly) }

// inLondon returns an instant in the time zone of newCaller's companies.
func inLondon(at time.Time) time.Time {
	zone, err := time.LoadLocation("Europe/London")
	if err != nil {
		panic(err)
	}
	return at.In(zone)
}

// awaitDay waits until today is still today at the end of the next test. Just before midnight, that takes a few
// minutes.
func awaitDay(t *testing.T) {
	t.Helper()
	const longest = 3 * time.Minute
	harness.Eventually(t, 2*longest, func() error {
		now := inLondon(time.Now())
		if now.Add(longest).Day() != now.Day() {
			return fmt.Errorf("it is %s", now.Format(time.TimeOnly))
		}
		return nil
	})
}

// with returns an object with further members; nil removes one.
func with(base, more object) object {
	all := maps.Clone(base)
	for name, value := range more {
		if all[name] = value; value == nil {
			delete(all, name)
		}
	}
	return all
}

// customer creates a customer and returns the identifier.
func (c *caller) customer(t *testing.T, first, last string) string {
	t.Helper()
	c.keys++
	email := fmt.Sprintf("customer%d@example.com", c.keys)
	return text(c.create(t, "/customers", object{"firstName": first, "lastName": last, "email": email}), "id")
}

// event creates an event for £40 or one credit with ten spots in a week's time, with the differences
// in more. A member that is nil is left out.
func (c *caller) event(t *testing.T, more object) object {
	t.Helper()
	return c.create(t, "/events", with(object{
		"title": "Clay", "type": "class", "startsAt": in(7 * day), "duration": 60, "capacity": 10,
		"pricingOptions": []object{{"name": "Seat", "price": 40, "currency": "GBP", "credits": 1, "taxRate": 25}},
	}, more))
}

// register books a spot on an event's date for a customer, paid by card unless more differs.
func (c *caller) register(t *testing.T, event object, customer string, more object) object {
	t.Helper()
	return c.create(t, path(text(event, "id"))+"/registrations", with(object{"customerId": customer}, more))
}

// passType creates a pass type of five uses, with the differences in more.
func (c *caller) passType(t *testing.T, more object) object {
	t.Helper()
	return c.create(t, "/passes", with(object{
		"title": "Five classes", "totalUses": 5, "validityCount": 1, "validityUnit": "month", "price": 50, "currency": "GBP",
	}, more))
}

// give assigns a pass to a customer from today, with the differences in more.
func (c *caller) give(t *testing.T, passType object, customer string, more object) object {
	t.Helper()
	return c.create(t, "/customer-passes", with(object{"customerId": customer, "passId": passType["id"], "startDate": date(0)}, more))
}

// revalidates checks that a GET has an ETag and answers If-None-Match with 304.
func revalidates(t *testing.T, f *harness.Face, at string) {
	t.Helper()
	tag := f.Send(t, 200, get, at, nil).Header.Get("ETag")
	if tag == "" {
		t.Fatalf("%s has no ETag", at)
	}
	for _, match := range []string{tag, "W/" + tag, `"x", ` + tag, "*"} {
		if answer := f.Send(t, 304, get, at, nil, "If-None-Match", match); len(answer.Body) > 0 || answer.Header.Get("ETag") != tag {
			t.Errorf("%s: %q, ETag %s", at, answer.Body, answer.Header.Get("ETag"))
		}
	}
	f.Send(t, 200, get, at, nil, "If-None-Match", `"x"`)
}

// byPass is a payment with a customer pass.
func byPass(pass object) object {
	return object{"payment": object{"method": "PASS", "customerPassId": pass["id"]}}
}

// by is a payment with another method.
func by(method string) object { return object{"payment": object{"method": method}} }
