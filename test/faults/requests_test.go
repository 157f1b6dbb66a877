package faults

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	"reservation.dev/test/harness"
)

// content is what requests carry in their bodies, queries and headers, and the request log must not.
const content = "marker7f3a"

// requestWorld is a company that sends requests to both interfaces.
type requestWorld struct {
	*harness.Cluster
	op          *harness.Operator
	company     *harness.Company
	a           *harness.A
	b           *harness.B
	client, key harness.Credential
	page        string // a publishable key
	customer    string
}

// TestRequestLog sends requests to both gateways, and reads what the log has of them.
func TestRequestLog(t *testing.T) {
	t.Parallel()
	w := &requestWorld{Cluster: harness.StartCluster(t, harness.ClusterOptions{GatewaysB: 1})}
	w.op = w.Operator(t)
	w.company = w.op.NewCompany(t, "Europe/London")
	w.a, w.b = w.A(t), harness.NewB(t, w.GatewaysB[0])
	w.client, w.key = w.company.NewClient(t), w.company.NewKey(t, 1000)
	w.customer = w.company.ImportCustomers(t, "guest", 1)[0]
	made, err := w.op.PublishableKeys.CreatePublishableKey(w.company.Ctx(t.Context()), &authv1.CreatePublishableKeyRequest{Name: "Website"})
	if err != nil {
		t.Fatal(err)
	}
	w.page = made.GetPublishableKey().GetId()
	t.Run("has every request of the company's credentials, and of no other", w.testRequests)
	t.Run("catches up after auth was away", w.testAuthAway)
	t.Run("has the last requests of a gateway that ends", w.testGatewayEnds)
}

// line is what a test compares of a request.
func line(credential, method, path string, status int, code string) string {
	return fmt.Sprintf("%s %s %s %d %s", credential, method, path, status, code)
}

// lines returns the log of a company, sorted.
func lines(list []*authv1.LoggedRequest) []string {
	var all []string
	for _, r := range list {
		all = append(all, line(r.GetCredentialId(), r.GetMethod(), r.GetPath(), int(r.GetStatus()), r.GetErrorCode()))
	}
	return slices.Sorted(slices.Values(all))
}

// awaitLines waits until the log of a company is as expected.
func awaitLines(t *testing.T, w *requestWorld, c *harness.Company, want []string) {
	t.Helper()
	slices.Sort(want)
	harness.Eventually(t, backLimit, func() error {
		res, err := w.op.Requests.ListRequests(c.Ctx(t.Context()), &authv1.ListRequestsRequest{PageSize: 200})
		if got := lines(res.GetRequests()); err == nil && !slices.Equal(got, want) {
			err = fmt.Errorf("the log has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		return err
	})
}

func (w *requestWorld) testRequests(t *testing.T) {
	neighbour := w.op.NewCompany(t, "Europe/London")
	theirs := neighbour.NewKey(t, 1000)
	var want []string
	send := func(a *harness.A, credential, code string, status int, r harness.Request) {
		t.Helper()
		r.Method = cmp.Or(r.Method, map[bool]string{true: http.MethodPost, false: http.MethodGet}[r.Body != ""])
		if r.Header == nil {
			r.Header = http.Header{}
		}
		r.Header.Set("X-Content", content)
		a.Do(t, r).Into(t, status, nil)
		path, _, _ := strings.Cut(r.Path, "?")
		if a == &w.b.A {
			path = "/api/v1" + path
		}
		want = append(want, line(credential, r.Method, path, status, code))
	}
	wrong := w.client
	wrong.Secret = content
	send(w.a, w.client.ID, "INVALID_CREDENTIALS", 401, harness.TokenRequest(wrong))
	onA, onB := w.a.Token(t, w.client), w.b.Token(t, w.key)
	want = append(want, line(w.client.ID, "POST", "/token", 200, ""), line(w.key.ID, "POST", "/api/v1/auth/token", 200, ""))
	profile := "/customer/" + w.customer + "/profile"
	send(w.a, w.client.ID, "", 200, harness.Request{Method: http.MethodPut, Path: profile, Token: onA, Body: `{"firstname":"` + content + `","lastname":"X","email":"x@example.com"}`})
	send(w.a, w.key.ID, "UNAUTHORIZED", 401, harness.Request{Path: profile, Token: onB})
	send(&w.b.A, w.key.ID, "", 200, harness.Request{Path: "/customers?q=" + content, Token: onB})
	send(&w.b.A, w.key.ID, "NOT_FOUND", 404, harness.Request{Path: "/nothing?q=" + content, Token: onB})
	send(&w.b.A, w.key.ID, "VALIDATION_ERROR", 400, harness.Request{Path: "/customers", Token: onB, Body: `{"lastName":"` + content + `"}`})
	for range 2 {
		send(&w.b.A, w.key.ID, "", 201, harness.Request{
			Path: "/customers", Token: onB, Body: `{"firstName":"` + content + `","lastName":"Y","email":"y@example.com"}`, Header: http.Header{"Idempotency-Key": {content}},
		})
	}
	send(&w.b.A, w.page, "", 200, harness.Request{Path: "/events", Token: w.page})
	send(&w.b.A, w.page, "FORBIDDEN", 403, harness.Request{Path: "/customers", Token: w.page})
	if _, err := w.op.Clients.RotateApiClientSecret(w.company.Ctx(t.Context()), &authv1.RotateApiClientSecretRequest{Id: w.client.ID}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, backLimit, func() error {
		answer := w.a.Do(t, harness.Request{Path: profile, Token: onA})
		want = append(want, line(w.client.ID, "GET", profile, answer.Code, answer.Reason()))
		if answer.Code != http.StatusUnauthorized {
			return fmt.Errorf("the revoked token gets %d", answer.Code)
		}
		return nil
	})
	w.b.Do(t, harness.Request{Path: "/customers/" + w.customer, Token: w.b.Token(t, theirs)}).Into(t, http.StatusNotFound, nil)

	awaitLines(t, w, w.company, want)
	awaitLines(t, w, neighbour, []string{line(theirs.ID, "POST", "/api/v1/auth/token", 200, ""), line(theirs.ID, "GET", "/api/v1/customers/"+w.customer, 404, "NOT_FOUND")})
	w.checkReplay(t)
	w.checkContent(t)
}

// checkReplay checks what the log says of the write that was repeated.
func (w *requestWorld) checkReplay(t *testing.T) {
	t.Helper()
	writes := w.company.AwaitRequests(t, &authv1.ListRequestsRequest{Method: http.MethodPost, MinStatus: 201, MaxStatus: 201})
	if len(writes) != 2 || !writes[0].GetReplayed() || writes[1].GetReplayed() || !writes[0].GetIdempotencyKey() || !writes[1].GetIdempotencyKey() {
		t.Errorf("the write and its repetition are logged as %v", writes)
	}
}

// checkContent searches the log in the database for what the requests carried.
func (w *requestWorld) checkContent(t *testing.T) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), w.OwnerURL("auth"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	var rows, found int
	err = conn.QueryRow(t.Context(), `select count(*), count(*) filter (where strpos(r::text, $1) > 0) from requests r`, content).Scan(&rows, &found)
	if err != nil || rows < 10 || found > 0 {
		t.Errorf("%d of %d requests in the log have what they carried, %v", found, rows, err)
	}
}

// testAuthAway sends requests while auth is not running.
func (w *requestWorld) testAuthAway(t *testing.T) {
	token := w.b.Token(t, w.key)
	w.company.AwaitRequests(t, &authv1.ListRequestsRequest{CredentialId: w.key.ID})
	w.Part("auth").Kill(t)
	var want []string
	for range 50 {
		answer := w.b.Do(t, harness.Request{Path: "/customers", Token: token})
		answer.Into(t, http.StatusOK, nil)
		want = append(want, answer.Header.Get("X-Request-Id"))
	}
	w.Part("auth").Restart(t)
	w.awaitIDs(t, want)
}

// testGatewayEnds ends a gateway directly after it answered.
func (w *requestWorld) testGatewayEnds(t *testing.T) {
	token := w.b.Token(t, w.key)
	answer := w.b.Do(t, harness.Request{Path: "/customers", Token: token})
	answer.Into(t, http.StatusOK, nil)
	w.Part("gateway-b-1").Stop(t)
	w.awaitIDs(t, []string{answer.Header.Get("X-Request-Id")})
}

// awaitIDs waits until each of the requests is in the log, once.
func (w *requestWorld) awaitIDs(t *testing.T, ids []string) {
	t.Helper()
	for _, requestID := range ids {
		harness.Eventually(t, backLimit, func() error {
			res, err := w.op.Requests.ListRequests(w.op.As(t.Context(), w.company.ID), &authv1.ListRequestsRequest{RequestId: requestID})
			if err == nil && len(res.GetRequests()) != 1 {
				err = fmt.Errorf("the log has the request %s %d times", requestID, len(res.GetRequests()))
			}
			return err
		})
	}
}
