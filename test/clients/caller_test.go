package clients

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"reservation.dev/platform/id"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	"reservation.dev/test/harness"
)

// routes is an interface of a running platform, with its operations from its description.
type routes struct {
	face
	platform   *harness.Standalone
	operator   *harness.Operator
	operations map[string]operation
}

// permissions returns the permissions of all operations, sorted.
func (r *routes) permissions() []string {
	all := map[string]bool{}
	for _, o := range r.operations {
		all[o.permission] = true
	}
	delete(all, "")
	return slices.Sorted(maps.Keys(all))
}

// credential creates a credential of a company for the interface. limit is its number of requests in
// any 60 seconds.
func (r *routes) credential(t *testing.T, company *harness.Company, limit int32, permissions ...string) harness.Credential {
	t.Helper()
	if r.name == "a" {
		req := &authv1.CreateApiClientRequest{Name: "client", Scopes: permissions, RateLimit: &limit}
		made, err := r.operator.Clients.CreateApiClient(company.Ctx(t.Context()), req)
		if err != nil {
			t.Fatal(err)
		}
		return harness.Credential{ID: made.GetApiClient().GetId(), Secret: made.GetClientSecret()}
	}
	req := &authv1.CreateApiKeyRequest{Name: "key", Permissions: permissions, RateLimit: &limit}
	made, err := r.operator.APIKeys.CreateApiKey(company.Ctx(t.Context()), req)
	if err != nil {
		t.Fatal(err)
	}
	return harness.Credential{ID: made.GetApiKey().GetId(), Secret: made.GetApiSecret()}
}

// token returns a token of a credential.
func (r *routes) token(t *testing.T, credential harness.Credential) string {
	t.Helper()
	c := r.platform.Credentials
	if r.name == "a" {
		return harness.NewA(t, r.base(&c)).Token(t, credential)
	}
	return harness.NewB(t, r.base(&c)).Token(t, credential)
}

// caller runs the scenario of an interface as a company.
type caller struct {
	*routes
	*harness.A
	company *harness.Company
	steps   []step
	values  map[string]string
	seen    map[string]bool // the identifiers in the responses
	marker  string          // is added to the texts of the requests
}

// mostRequests is the largest limit that a credential can have.
const mostRequests = 10000

// caller returns a caller of a new company with all permissions. On Interface B, the company is in test
// mode, because only that permits all operations.
func (r *routes) caller(t *testing.T) *caller {
	t.Helper()
	company := r.operator.NewCompany(t, "Europe/London")
	if r.name == "b" {
		company = company.TestMode(t)
	}
	return r.callerOf(t, company)
}

// callerOf is caller for an existing company.
func (r *routes) callerOf(t *testing.T, company *harness.Company) *caller {
	t.Helper()
	mine := r.platform.Credentials
	key := (&routes{face: face{name: "b"}, operator: r.operator}).credential(t, company, mostRequests)
	mine.InterfaceB.APIKey, mine.InterfaceB.APISecret = key.ID, key.Secret
	if r.name == "a" {
		client := r.credential(t, company, mostRequests, r.permissions()...)
		mine.InterfaceA.ClientID, mine.InterfaceA.ClientSecret = client.ID, client.Secret
	}
	c := &caller{routes: r, A: harness.NewA(t, r.base(&mine)), company: company, seen: map[string]bool{}}
	c.steps, c.values = r.steps(t, &mine)
	return c
}

// request returns the request of a step, with the token of the caller.
func (c *caller) request(s step) harness.Request {
	o := c.operations[s.operation]
	r := harness.Request{Method: o.method, Path: c.path(o.path, s), Token: c.values["accessToken"], Header: http.Header{}}
	query := url.Values{}
	for name, value := range s.query {
		query.Set(name, c.value(fmt.Sprint(value)))
	}
	if len(query) > 0 {
		r.Path += "?" + query.Encode()
	}
	for name, value := range s.header {
		r.Header.Set(name, fmt.Sprint(value))
	}
	if o.body {
		r.Body = jsonText(s.body)
		for name, value := range c.values {
			r.Body = strings.ReplaceAll(r.Body, strconv.Quote("$"+name), strconv.Quote(value))
		}
		r.Body = texts.ReplaceAllString(r.Body, `"$1":"$2`+c.marker+`"`)
	}
	return r
}

// texts matches the members of a body that are texts without a meaning for the platform.
var texts = regexp.MustCompile(`"(title|description|firstName|firstname|lastName|lastname|location|reason|body|author)":"([^"]*)"`)

// value returns the value of a variable, or any other text unchanged.
func (c *caller) value(text string) string {
	if name, ok := strings.CutPrefix(text, "$"); ok {
		return c.values[name]
	}
	return text
}

// path returns a path of the description that starts like that of a step, with the step's values.
func (c *caller) path(template string, s step) string {
	parts, next := strings.Split(template, "/"), 0
	for i, part := range parts {
		if strings.HasPrefix(part, "{") {
			parts[i] = c.value(s.path[next])
			next++
		}
	}
	return strings.Join(parts, "/")
}

// identifier matches an identifier: its prefix and the rest.
var identifier = regexp.MustCompile(`\b([a-z0-9]+(?:_test_|_|-))([0-9a-hjkmnp-tv-z]{26})\b`)

// sentPaths matches the paths in the request log. They have the identifiers that the caller itself sent,
// whose resources can belong to another company.
var sentPaths = regexp.MustCompile(`"path":"[^"]*"`)

// send makes a request, and notes the identifiers in its response.
func (c *caller) send(t *testing.T, r harness.Request) harness.Answer {
	t.Helper()
	answer := c.Do(t, r)
	if answer.Code < 300 {
		for _, found := range identifier.FindAllString(sentPaths.ReplaceAllString(string(answer.Body), ""), -1) {
			if !strings.HasSuffix(found, "0000000000") { // the samples of test deliveries have fixed identifiers
				c.seen[found] = true
			}
		}
	}
	return answer
}

// take sends the request of a step, checks its status, and saves its variables. It repeats a request for the request
// log until it has an entry, because entries follow their requests.
func (c *caller) take(t *testing.T, s step, r harness.Request) harness.Answer {
	t.Helper()
	var answer harness.Answer
	var v any
	harness.Eventually(t, time.Minute, func() error {
		if answer = c.send(t, r); answer.Code != s.want() {
			t.Fatalf("%s (%s %s): %d %s", s.operation, r.Method, r.Path, answer.Code, answer.Body)
		}
		answer.Into(t, s.want(), &v)
		if s.operation == "listRequests" && at(v, "total") == 0.0 {
			return errors.New("the request log is empty")
		}
		return nil
	})
	for name, path := range s.save {
		c.values[name] = fmt.Sprint(at(v, path))
	}
	return answer
}

// at returns the value at a path such as "dates.0.id".
func at(v any, path string) any {
	for part := range strings.SplitSeq(path, ".") {
		switch node := v.(type) {
		case []any:
			i, _ := strconv.Atoi(part) // 0 if it is not a number, which the scenario does not have
			v = node[i]
		case object:
			v = node[part]
		}
	}
	return v
}

// play takes all steps except those of some operations.
func (c *caller) play(t *testing.T, without ...string) {
	t.Helper()
	for _, s := range c.steps {
		if !slices.Contains(without, s.operation) {
			c.take(t, s, c.request(s))
		}
	}
}

// state returns what the caller reads at the paths that contain the path of a step: its resource and
// the lists that it is in.
func (c *caller) state(t *testing.T, s step) map[string]string {
	t.Helper()
	all := map[string]string{}
	path := c.operations[s.operation].path
	for _, o := range c.operations {
		// Reading the request log adds to it.
		if o.method != http.MethodGet || path != o.path && !strings.HasPrefix(path, o.path+"/") || o.path == "/requests" {
			continue
		}
		r := harness.Request{Method: o.method, Path: c.path(o.path, s), Token: c.values["accessToken"]}
		answer := c.send(t, r)
		all[o.path] = fmt.Sprint(answer.Code, " ", attempts.ReplaceAllString(string(answer.Body), ""))
	}
	return all
}

// attempts matches the members that change by themselves: when a webhook delivery is attempted, and what
// the test clock shows.
var attempts = regexp.MustCompile(`"now":"[^"]*"|"(attemptCount|failingSince|finishedAt|lastFailure|lastResponseStatus|nextAttemptAt)":[^,}]*|"attempts":\[[^]]*\]|"status":"(pending|failed)"`)

// unknown returns a text whose identifiers are replaced with new ones of the same kinds.
func unknown(text string) string {
	return identifier.ReplaceAllStringFunc(text, func(old string) string {
		return identifier.FindStringSubmatch(old)[1] + id.NewUUID().String()
	})
}

// anonymous returns a text without its identifiers.
func anonymous(text string) string { return identifier.ReplaceAllString(text, "$1") }

// scopeOf returns the permission that a refusal names.
func scopeOf(answer harness.Answer) string {
	var body struct {
		Error struct{ Details struct{ Scope string } }
	}
	_ = json.Unmarshal(answer.Body, &body) // another body names none
	return body.Error.Details.Scope
}
