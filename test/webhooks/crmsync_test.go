package webhooks

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reservation.dev/platform/webhookevent"
	"reservation.dev/test/harness"
)

// copied has the lists that the program copies, with the member of each that has the items.
var copied = map[string]string{"customers": "customers", "registrations": "registrations", "customer-passes": "customerPasses"}

// resources are the items of a list by id.
type resources map[string]map[string]any

// crm is a company whose data the example program docs/examples/crmsync copies.
type crm struct {
	operator
	b       *harness.B
	token   string
	program string
	env     map[string]string
}

// TestCRMSync checks that the copy of the example equals the lists: after the first run, after changes that webhooks
// bring, and after changes that happen while it does not run.
func TestCRMSync(t *testing.T) {
	s := harness.StartStandalone(t, harness.StandaloneOptions{Env: map[string]string{"DEMO": "on"}})
	c := newCRM(t, operator{s})
	first := c.start(t)
	c.equal(t)
	c.change(t, "first")
	c.equal(t)
	c.refusesUnsigned(t)
	if err := first.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	err := <-first.done
	first.done <- err
	c.change(t, "second")
	c.start(t)
	c.equal(t)
}

// newCRM registers an endpoint and creates a key with the permissions that the example needs.
func newCRM(t *testing.T, o operator) *crm {
	t.Helper()
	const dir = "../../docs/examples/crmsync/"
	program := buildGo(t, copyGo(t, map[string]string{"main.go": dir + "main.go", "copy.go": dir + "copy.go", "client.go": dir + "client.go"}))
	addr := harness.FreeAddr(t)
	_, e := o.listen(t, "--forward-to", "http://"+addr+"/", "--events", strings.Join(webhookevent.Names(), ","))
	var secrets []secret
	o.into(t, &secrets, "webhook", "secret", e.Name)
	// The demonstration company has as many pages and messages as the usual limit allows in a minute.
	key := o.createKey(t, "--rate-limit", "1000", "--permissions", "customers:read,registrations:read,customer-passes:read,events:read,webhooks:read")
	base := o.s.Credentials.InterfaceB.BaseURL
	c := &crm{operator: o, b: harness.NewB(t, base), program: program, env: map[string]string{
		"B": base, "API_KEY": key.ID, "API_SECRET": key.Secret,
		"WEBHOOK_SECRET": secrets[0].Secret, "ADDR": addr, "COPY": filepath.Join(t.TempDir(), "copy.json"),
	}}
	c.token = c.b.Token(t, o.createKey(t, "--rate-limit", "10000"))
	return c
}

// createKey creates an API key.
func (o operator) createKey(t *testing.T, args ...string) harness.Credential {
	t.Helper()
	var key struct {
		ID     string `json:"api_key"`
		Secret string `json:"api_secret"`
	}
	o.into(t, &key, append([]string{"key", "create", "--name", "CRM"}, args...)...)
	return harness.Credential{ID: key.ID, Secret: key.Secret}
}

// start runs the example and waits until it receives.
func (c *crm) start(t *testing.T) *background {
	t.Helper()
	b := start(t, t.TempDir(), c.env, c.program)
	harness.Eventually(t, waiting, func() error {
		res, err := http.Get("http://" + c.env["ADDR"])
		if err == nil {
			err = res.Body.Close()
		}
		return err
	})
	return b
}

// call sends a write and returns the resource of the response.
func (c *crm) call(t *testing.T, method, path, body string) map[string]any {
	t.Helper()
	answer := c.b.Do(t, harness.Request{Method: method, Path: path, Token: c.token, Body: body})
	var resource map[string]any
	if err := json.Unmarshal(answer.Body, &resource); err != nil || answer.Code >= http.StatusBadRequest {
		t.Fatalf("%s %s: %d %s", method, path, answer.Code, answer.Body)
	}
	return resource
}

// change makes changes of every kind that the example copies.
func (c *crm) change(t *testing.T, name string) {
	t.Helper()
	post := func(path, format string, args ...any) map[string]any {
		t.Helper()
		return c.call(t, http.MethodPost, path, fmt.Sprintf(format, args...))
	}
	patch := func(path, body string) {
		t.Helper()
		c.call(t, http.MethodPatch, path, body)
	}
	customer := func(n string) any {
		return post("/customers", `{"firstName":%q,"lastName":%q,"email":"%s@%s.example"}`, n, name, n, name)["id"]
	}
	ada, bea := customer("ada"), customer("bea")
	starts := time.Now().Add(240 * time.Hour).UTC().Truncate(time.Second)
	event := post("/events", `{"title":%q,"startsAt":%q,"duration":60,"capacity":9,"pricingOptions":[{"name":"Drop-in","price":12.35,"credits":1}]}`,
		name, starts.Format(time.RFC3339))
	pass := post("/passes", `{"title":%q,"totalUses":5,"validityCount":2,"validityUnit":"month","price":60,"eligibleEventTypes":["class"]}`, name)["id"]
	held := post("/customer-passes", `{"customerId":%q,"passId":%q,"startDate":%q,"payment":{"method":"CARD"}}`, ada, pass, time.Now().UTC().Format(time.DateOnly))["id"]
	book := func(customer any, method string) string {
		t.Helper()
		return post(fmt.Sprintf("/events/%s/registrations", event["id"]), `{"customerId":%q,"payment":{"method":%q}}`, customer, method)["id"].(string)
	}
	attended, cancelled := book(ada, "PASS"), book(bea, "CARD")
	post("/registrations/"+attended+"/attendance", `{"attendance":"attended"}`)
	post("/registrations/"+cancelled+"/cancel", `{"reason":"ill"}`)
	post("/registrations/"+cancelled+"/refund", `{"amount":2.5}`)
	patch(fmt.Sprintf("/customer-passes/%s", held), `{"remainingUses":9}`)
	patch(fmt.Sprintf("/customers/%s", ada), `{"firstName":"Ada","lastName":"Byron"}`)
	patch(fmt.Sprintf("/events/%s", event["id"]), `{"title":"renamed"}`)
	date := event["dates"].([]any)[0].(map[string]any)["id"]
	patch(fmt.Sprintf("/event-dates/%s", date), fmt.Sprintf(`{"startsAt":%q}`, starts.Add(time.Hour).Format(time.RFC3339)))
	c.call(t, http.MethodDelete, fmt.Sprintf("/customers/%s", bea), "")
}

// equal waits until the copy equals the lists. The lists are read every second, because the names in registrations
// follow the changes of their customers.
func (c *crm) equal(t *testing.T) {
	t.Helper()
	want := map[string]resources{}
	var read time.Time
	harness.Eventually(t, waiting, func() error {
		if time.Since(read) > time.Second {
			for path, member := range copied {
				want[path] = c.list(t, path, member)
			}
			read = time.Now()
		}
		var got struct{ Tables map[string]resources }
		text, err := os.ReadFile(c.env["COPY"])
		if err != nil {
			return err
		}
		if err := json.Unmarshal(text, &got); err != nil {
			return err
		}
		for path := range copied {
			if diff := cmp.Diff(want[path], got.Tables[path]); diff != "" {
				return fmt.Errorf("%s: -want +got:\n%s", path, diff)
			}
		}
		return nil
	})
}

// list reads a whole list.
func (c *crm) list(t *testing.T, path, member string) resources {
	t.Helper()
	all := resources{}
	query := "?perPage=100"
	for {
		page := c.call(t, http.MethodGet, "/"+path+query, "")
		for _, item := range page[member].([]any) {
			resource := item.(map[string]any)
			all[resource["id"].(string)] = resource
		}
		cursor, more := page["nextCursor"].(string)
		if !more {
			return all
		}
		query = "?perPage=100&cursor=" + cursor
	}
}

// refusesUnsigned sends a message that nobody signed.
func (c *crm) refusesUnsigned(t *testing.T) {
	t.Helper()
	res, err := http.Post("http://"+c.env["ADDR"], "application/json", strings.NewReader(`{"event":"customer.created","data":{"id":"cust_1","updatedAt":"2099-01-01T00:00:00Z"}}`))
	if err != nil || res.StatusCode != http.StatusUnauthorized {
		t.Errorf("an unsigned message is answered %s, %v", status(res), err)
	}
}
