package gatewaya

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"reservation.dev/devkit/testkit"
	"reservation.dev/devkit/testkit/openapitest"
	"reservation.dev/gateway-a/openapi"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/scopes"
	"reservation.dev/platform/token"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestRoutesAreTheContract(t *testing.T) { // invariant 5
	t.Parallel()
	contract := openapitest.Load(t, openapi.Description, "")
	contract.CheckExamples(t)
	contract.CheckKeys(t)
	var have []string
	for _, r := range routes() {
		have = append(have, r.Method+" "+pathParameters().Replace(r.Path))
	}
	described := contract.Operations()
	slices.Sort(have)
	slices.Sort(described)
	if !slices.Equal(have, described) {
		t.Errorf("routes.go has %v, openapi.yaml has %v", have, described)
	}
}

// pathParameters gives the parameters of paths their public names.
func pathParameters() *strings.Replacer {
	return strings.NewReplacer("{booking_id}", "{bookingId}", "{pass_id}", "{passId}", "{note_id}", "{noteId}",
		"{subscription_id}", "{subscriptionId}", "{media_id}", "{mediaId}", "{appointment_id}", "{appointmentId}")
}

func TestEveryScopeHasARoute(t *testing.T) { // invariant 1
	t.Parallel()
	used := map[string]bool{}
	for _, r := range routes() {
		used[r.Scope] = true
	}
	delete(used, "")
	if got, want := slices.Sorted(maps.Keys(used)), slices.Sorted(slices.Values(scopes.InterfaceA())); !slices.Equal(got, want) {
		t.Errorf("routes.go needs %v, a client can have %v", got, want)
	}
}

func TestAccess(t *testing.T) { // invariant 1
	t.Parallel()
	g := newGateway(t)
	paths := map[string]request{}
	customerID := id.New[id.Customer]().String()
	needed := map[string]string{}
	for _, r := range routes() {
		if r.Scope == "" {
			continue
		}
		path := strings.NewReplacer("{id}", customerID, "{booking_id}", id.New[id.Transaction]().String(),
			"{pass_id}", id.New[id.CustomerPass]().String(), "{note_id}", id.New[id.Note]().String(),
			"{subscription_id}", id.New[id.Subscription]().String(), "{media_id}", id.New[id.MediaItem]().String(),
			"{appointment_id}", id.New[id.Appointment]().String()).Replace(r.Path)
		paths[r.Method+" "+r.Path] = request{Method: r.Method, Path: path, Body: map[bool]string{true: "not json"}[r.Method == http.MethodPut || r.Method == http.MethodPost]}
		needed[r.Method+" "+r.Path] = r.Scope
	}
	for name, r := range paths {
		t.Run(name+" needs a token", func(t *testing.T) {
			for _, header := range []http.Header{nil, {"Authorization": {"Bearer"}}, {"Authorization": {"Basic YTpi"}}, {"Authorization": {"Bearer nonsense"}}, {"Authorization": {"Bearer a", "Bearer b"}}} {
				r.Header = header
				a := g.do(r)
				if a.Code != http.StatusUnauthorized || !strings.HasPrefix(a.Header.Get("WWW-Authenticate"), "Bearer") {
					t.Errorf("%v: got %d %s", header, a.Code, a.Body)
				}
			}
		})
		t.Run(name+" refuses an expired token", func(t *testing.T) {
			r.Token = g.issuer.Sign(token.Claims{Company: g.company, Scopes: []string{needed[name]}, IssuedAt: time.Now().Add(-2 * time.Hour)})
			a := g.do(r)
			if a.Code != http.StatusUnauthorized || !strings.Contains(a.Header.Get("WWW-Authenticate"), `error="invalid_token"`) {
				t.Errorf("got %d %v", a.Code, a.Header)
			}
		})
		t.Run(name+" refuses the token of a service", func(t *testing.T) {
			for _, scope := range []string{needed[name], token.Admin} {
				r.Token = g.issuer.Sign(token.Claims{
					Subject: id.New[id.ServiceCredential]().String(), Kind: token.KindService, Company: g.company, Scopes: []string{scope},
				})
				a := g.do(r)
				if a.Code != http.StatusUnauthorized || !strings.Contains(a.Header.Get("WWW-Authenticate"), `error="invalid_token"`) {
					t.Errorf("got %d %v", a.Code, a.Header)
				}
			}
		})
		t.Run(name+" names the missing scope", func(t *testing.T) {
			others := slices.DeleteFunc(scopes.InterfaceA(), func(scope string) bool { return scope == needed[name] })
			r.Token = g.issuer.Client(g.company, others...)
			a := g.do(r)
			if a.Code != http.StatusForbidden || !strings.Contains(a.Body, needed[name]) ||
				!strings.Contains(a.Header.Get("WWW-Authenticate"), `scope="`+needed[name]+`"`) {
				t.Errorf("got %d %s %v", a.Code, a.Body, a.Header)
			}
		})
	}
}

func TestErrors(t *testing.T) { // invariant 4
	t.Parallel()
	g := newGateway(t)
	customerID := id.New[id.Customer]().String()
	profile := "/customer/" + customerID + "/profile"
	put := func(media, body string) request {
		return request{Method: http.MethodPut, Path: profile, Token: g.token(), Media: media, Body: body}
	}
	get := func(path string) request {
		return request{Method: http.MethodGet, Path: path, Token: g.token()}
	}
	list := "/customer/" + customerID + "/bookings"
	tests := map[string]struct {
		request
		code   int
		reason string
		field  string
	}{
		"an unknown path":                        {get("/nothing"), 404, fault.ReasonNotFound, ""},
		"a trailing slash":                       {get("/customers/"), 404, fault.ReasonNotFound, ""},
		"a wrong method":                         {request{Method: http.MethodDelete, Path: profile, Token: g.token()}, 405, fault.ReasonMethodNotAllowed, ""},
		"an empty identifier":                    {get("/customer//profile"), 404, fault.ReasonNotFound, ""},
		"an identifier with a quote":             {get("/customer/cust_'--/profile"), 404, fault.ReasonNotFound, ""},
		"an identifier with a NUL":               {get("/customer/cust_%00/profile"), 404, fault.ReasonNotFound, ""},
		"an identifier that is not UTF-8":        {get("/customer/%ff%fe/profile"), 404, fault.ReasonNotFound, ""},
		"an identifier of 10 kB":                 {get("/customer/cust_" + strings.Repeat("x", 10_000) + "/profile"), 404, fault.ReasonNotFound, ""},
		"an identifier with a slash":             {get("/customer/a%2Fb/profile"), 404, fault.ReasonNotFound, ""},
		"an identifier with a space":             {get("/customer/a%20b/profile"), 404, fault.ReasonNotFound, ""},
		"a wrong media type":                     {put("text/plain", `{}`), 415, fault.ReasonUnsupportedMediaType, ""},
		"a wrong charset":                        {put("application/json; charset=latin1", `{}`), 415, fault.ReasonUnsupportedMediaType, ""},
		"malformed JSON":                         {put("", `{"firstname":`), 400, fault.ReasonInvalidJSON, ""},
		"a member twice":                         {put("", `{"email":"a","email":"b"}`), 400, fault.ReasonInvalidJSON, ""},
		"invalid UTF-8":                          {put("", "{\"email\":\"\xff\"}"), 400, fault.ReasonInvalidJSON, ""},
		"a wrong type":                           {put("", `{"firstname":1}`), 400, fault.ReasonValidation, "firstname"},
		"a body over 1 MiB":                      {put("", `{"firstname":"`+strings.Repeat("a", 1<<20)+`"}`), 413, fault.ReasonPayloadTooLarge, ""},
		"a page that is not a number":            {get(list + "?page=x"), 400, fault.ReasonInvalidParameter, "page"},
		"an empty page":                          {get(list + "?page="), 400, fault.ReasonInvalidParameter, "page"},
		"a page that is too large":               {get(list + "?page=99999999999999999999"), 400, fault.ReasonInvalidParameter, "page"},
		"a future_only that is a number":         {get(list + "?future_only=1"), 400, fault.ReasonInvalidParameter, "future_only"},
		"a future_only that is not a boolean":    {get(list + "?future_only=yes"), 400, fault.ReasonInvalidParameter, "future_only"},
		"a parameter twice":                      {get(list + "?page=1&page=2"), 400, fault.ReasonInvalidParameter, "page"},
		"a malformed query":                      {get(list + "?page=%zz"), 400, fault.ReasonInvalidParameter, ""},
		"a query that is not UTF-8":              {get(list + "?startDate=%ff"), 400, fault.ReasonInvalidParameter, "startDate"},
		"a negative page of customers":           {get("/customers?page=-1"), 400, fault.ReasonInvalidParameter, "page"},
		"a pageSize of 0 customers":              {get("/customers?pageSize=0"), 400, fault.ReasonInvalidParameter, "pageSize"},
		"an updated_since that is not a time":    {get("/customers?updated_since=today"), 400, fault.ReasonInvalidParameter, "updated_since"},
		"an empty Idempotency-Key":               {request{Method: http.MethodPut, Path: profile, Token: g.token(), Body: `{}`, Header: http.Header{"Idempotency-Key": {""}}}, 400, fault.ReasonInvalidParameter, "Idempotency-Key"},
		"an Idempotency-Key that is too long":    {request{Method: http.MethodPut, Path: profile, Token: g.token(), Body: `{}`, Header: http.Header{"Idempotency-Key": {strings.Repeat("k", 256)}}}, 400, fault.ReasonInvalidParameter, "Idempotency-Key"},
		"a token request with another media":     {request{Method: http.MethodPost, Path: "/token", Media: "text/xml", Body: "<a/>"}, 415, fault.ReasonUnsupportedMediaType, ""},
		"a token request that is not JSON":       {request{Method: http.MethodPost, Path: "/token", Body: "client_id=x"}, 400, fault.ReasonInvalidJSON, ""},
		"a token request with a number":          {request{Method: http.MethodPost, Path: "/token", Body: `{"client_id":5,"client_secret":"x"}`}, 400, fault.ReasonValidation, "client_id"},
		"a token request with wrong credentials": {request{Method: http.MethodPost, Path: "/token", Body: `{"client_id":"m2m_x","client_secret":"x"}`}, 401, fault.ReasonInvalidCredentials, ""},
	}
	for name, tt := range tests {
		t.Run("responds to "+name, func(t *testing.T) {
			a := g.do(tt.request)
			var body struct {
				Message string
				Error   struct {
					Code, Message string
					Details       map[string]any
				}
			}
			if err := json.Unmarshal([]byte(a.Body), &body); err != nil {
				t.Fatalf("%d %s: %v", a.Code, a.Body, err)
			}
			if a.Code != tt.code || body.Error.Code != tt.reason || body.Message == "" || body.Message != body.Error.Message {
				t.Errorf("got %d %s, want %d %s", a.Code, a.Body, tt.code, tt.reason)
			}
			if tt.field != "" && (body.Error.Details["field"] != tt.field || body.Error.Details["rule"] == "") {
				t.Errorf("got details %v, want the field %s", body.Error.Details, tt.field)
			}
			if a.Header.Get("X-Request-Id") == "" {
				t.Error("X-Request-Id is missing")
			}
			if a.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Error("a web page can read it")
			}
			if tt.code == 405 && a.Header.Get("Allow") != "GET, PUT" {
				t.Errorf("Allow: %q", a.Header.Get("Allow"))
			}
		})
	}
	t.Run("hides the cause of an internal error, and logs it with the request's id", func(t *testing.T) {
		g.customers.err = errBroken
		defer func() { g.customers.err = nil }()
		a := g.do(request{Method: http.MethodGet, Path: profile, Token: g.token(), Header: http.Header{"X-Request-Id": {"req-7"}}})
		if a.Code != http.StatusInternalServerError || strings.Contains(a.Body, "10.0.0.7") || a.Header.Get("X-Request-Id") != "req-7" {
			t.Errorf("got %d %s", a.Code, a.Body)
		}
		if !strings.Contains(g.log.String(), "req-7") {
			t.Error("the request's id is not in the log")
		}
	})
	t.Run("writes the members in order, the message first", func(t *testing.T) {
		a := g.do(request{Method: http.MethodGet, Path: profile})
		const message = `"an access token is required; send the header Authorization: Bearer <token>"`
		if want := `{"message":` + message + `,"error":{"code":"UNAUTHORIZED","message":` + message + `,"details":{}}}`; a.Body != want {
			t.Errorf("got %s", a.Body)
		}
	})
	t.Run("replaces an invalid request id", func(t *testing.T) {
		for _, bad := range []string{strings.Repeat("x", 200), "a b", "\"<script>\" x"} {
			a := g.do(request{Method: http.MethodGet, Path: "/nothing", Header: http.Header{"X-Request-Id": {bad}}})
			if got := a.Header.Get("X-Request-Id"); got == "" || got == bad {
				t.Errorf("%q became %q", bad, got)
			}
		}
	})
}

func TestProfile(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	customerID := id.New[id.Customer]().String()
	g.customers.answer = &customerv1.Customer{Id: customerID, FirstName: "Zoë", LastName: "O'Brien", Email: "z@example.com", Version: 7}
	path := "/customer/" + customerID + "/profile"

	t.Run("returns the customer without archived, with an ETag", func(t *testing.T) {
		a := g.do(request{Method: http.MethodGet, Path: path, Token: g.token()})
		want := `{"data":{"id":"` + customerID + `","type":"customer","firstname":"Zoë","lastname":"O'Brien","email":"z@example.com","mobile":""}}`
		if a.Code != 200 || a.Body != want || !strings.HasPrefix(a.Header.Get("ETag"), `"7-`) {
			t.Errorf("got %d %s %v", a.Code, a.Body, a.Header)
		}
	})
	t.Run("passes on the caller's token and no other header", func(t *testing.T) { // invariant 2
		tok := g.token()
		g.do(request{Method: http.MethodGet, Path: path, Token: tok, Header: http.Header{
			"Grpc-Metadata-Reservation-Company": {"comp_x"}, "Reservation-Company": {"comp_x"}, "Grpc-Timeout": {"nonsense"}, "X-Request-Id": {"req-9"},
		}})
		md := g.customers.metadata
		if got := md.Get("authorization"); len(got) != 1 || got[0] != "Bearer "+tok {
			t.Errorf("authorization: %v", got)
		}
		if len(md.Get("reservation-company")) != 0 || len(md.Get("x-request-id")) != 1 || md.Get("x-request-id")[0] != "req-9" {
			t.Errorf("metadata: %v", md)
		}
	})
	t.Run("an update always sends the required fields, and mobile only if it is given", func(t *testing.T) {
		a := g.do(request{Method: http.MethodPut, Path: path, Token: g.token(), Body: `{"firstname":"A","lastname":"B","email":"c@example.com"}`,
			Header: http.Header{"If-Match": {`"6"`}, "Idempotency-Key": {"k1"}}})
		if a.Code != 200 || !strings.HasPrefix(a.Header.Get("ETag"), `"7-`) {
			t.Fatalf("got %d %s", a.Code, a.Body)
		}
		u := g.customers.updated
		if u.GetFirstName() != "A" || u.GetLastName() != "B" || u.GetEmail() != "c@example.com" || u.Mobile != nil || u.GetExpectedVersion() != 6 || u.Archived != nil {
			t.Errorf("got %v", u)
		}
		if got := g.customers.metadata.Get("idempotency-key"); len(got) != 1 || got[0] != "k1" {
			t.Errorf("idempotency-key: %v", got)
		}
		g.do(request{Method: http.MethodPut, Path: path, Token: g.token(), Body: `{"mobile":"","password":"x"}`})
		u = g.customers.updated
		if u.FirstName == nil || u.GetFirstName() != "" || u.Mobile == nil || u.GetMobile() != "" {
			t.Errorf("got %v", u)
		}
		if u.Email == nil || u.GetEmail() != "" || !u.GetRequireEmail() {
			t.Errorf("a missing email does not get refused for every company: %v", u)
		}
	})
	t.Run("unescapes an identifier once", func(t *testing.T) {
		for escaped, want := range map[string]string{"cust%5Fx": "cust_x", "cust%255Fx": "cust%5Fx"} {
			g.do(request{Method: http.MethodPut, Path: "/customer/" + escaped + "/profile", Token: g.token(), Body: `{}`})
			if got := g.customers.updated.GetId(); got != want {
				t.Errorf("%s: got %s", escaped, got)
			}
		}
	})
	t.Run("gives the service's fields the names of the interface", func(t *testing.T) {
		g.customers.err = fault.InvalidFields(
			fault.Field{Field: "first_name", Rule: "required", Message: "is required"},
			fault.Field{Field: "email", Rule: "email", Message: "must be an e-mail address"})
		defer func() { g.customers.err = nil }()
		a := g.do(request{Method: http.MethodPut, Path: path, Token: g.token(), Body: `{}`})
		if a.Code != 400 || !strings.Contains(a.Body, `"field":"firstname"`) || !strings.Contains(a.Body, `"message":"firstname is required"`) ||
			!strings.Contains(a.Body, `"field":"email"`) || strings.Contains(a.Body, "first_name") {
			t.Errorf("got %d %s", a.Code, a.Body)
		}
	})
	t.Run("responds with the status of each fault", func(t *testing.T) {
		for _, tt := range []struct {
			err  error
			code int
		}{
			{fault.New(fault.VersionMismatch, fault.ReasonVersionMismatch, "the customer has changed"), 412},
			{fault.New(fault.Conflict, fault.ReasonIdempotencyKeyReused, "reused"), 409},
			{fault.New(fault.Conflict, fault.ReasonIdempotencyInProgress, "running").After(time.Second), 409},
			{fault.Missing("customer"), 404},
			{fault.Away(errBroken), 503},
		} {
			g.customers.err = tt.err
			a := g.do(request{Method: http.MethodPut, Path: path, Token: g.token(), Body: `{}`})
			if a.Code != tt.code || a.Header.Get("ETag") != "" || strings.Contains(a.Body, "hunter2") {
				t.Errorf("%v: got %d %s", tt.err, a.Code, a.Body)
			}
			if fault.From(tt.err).RetryAfter > 0 && a.Header.Get("Retry-After") != "1" {
				t.Errorf("%v: Retry-After %q", tt.err, a.Header.Get("Retry-After"))
			}
		}
		g.customers.err = nil
	})
}

func TestCustomers(t *testing.T) { // invariant 3
	t.Parallel()
	g := newGateway(t)
	one := `{"id":"cust_01jb4x9m3vf6ksn8w2d7pq5r0t","type":"customer","firstname":"A","lastname":"B","email":"c@example.com","mobile":"","archived":true}`
	get := request{Method: http.MethodGet, Path: "/customers", Token: g.token()}
	for name, tt := range map[string]struct {
		chunks []string
		want   string
	}{
		"no customers":   {nil, `{"data":[]}`},
		"one chunk":      {[]string{one}, `{"data":[` + one + `]}`},
		"several chunks": {[]string{one, "," + one, "," + one + "," + one}, `{"data":[` + strings.Join([]string{one, one, one, one}, ",") + `]}`},
	} {
		t.Run("streams one document of "+name, func(t *testing.T) {
			g.customers.chunks = tt.chunks
			if a := g.do(get); a.Code != 200 || a.Body != tt.want || a.Header.Get("Content-Type") != jsonType {
				t.Errorf("got %d %s", a.Code, a.Body)
			}
		})
	}
	t.Run("cuts the connection if the stream fails in the middle", func(t *testing.T) {
		g.customers.chunks, g.customers.cut = []string{one}, errBroken
		defer func() { g.customers.cut = nil }()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.client.URL+"/customers", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+g.token())
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return // the connection was cut before the headers arrived
		}
		defer res.Body.Close()
		if text, err := io.ReadAll(res.Body); err == nil {
			t.Errorf("the document ended as if it were complete: %s", text)
		}
	})
	t.Run("responds with an error before the first chunk", func(t *testing.T) {
		g.customers.err = fault.Away(errBroken)
		defer func() { g.customers.err = nil }()
		if a := g.do(get); a.Code != 503 {
			t.Errorf("got %d %s", a.Code, a.Body)
		}
	})
	t.Run("returns a page of at most 100 customers if the request has page parameters", func(t *testing.T) {
		g.customers.answer = &customerv1.Customer{Id: "cust_01jb4x9m3vf6ksn8w2d7pq5r0t", FirstName: "A"}
		a := g.do(request{Method: http.MethodGet, Path: "/customers?page=3&pageSize=500&updated_since=2026-01-01T00:00:00Z", Token: g.token()})
		if a.Code != 200 || !strings.HasSuffix(a.Body, `"total":41,"page":3,"pageSize":100}`) {
			t.Errorf("got %d %s", a.Code, a.Body)
		}
		if l := g.customers.listed; l.GetOffset() != 300 || l.GetPageSize() != 100 || l.GetUpdatedSince().AsTime().Year() != 2026 {
			t.Errorf("requested %v", l)
		}
	})
}

func TestPages(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	for path, want := range map[string]string{"/openapi.yaml": "openapi: 3.1.0", "/openapi.json": `{"openapi":"3.1.0"`, "/docs": "<html", "/docs/": "<html"} {
		res, err := http.Get(g.client.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != 200 || !strings.Contains(string(text), want) {
			t.Errorf("%s: %d, %d bytes, %v", path, res.StatusCode, len(text), err)
		}
	}
	for name, tt := range map[string]struct {
		method, path string
		code         int
		allow        string
	}{
		"a page does not accept POST":                  {http.MethodPost, "/openapi.yaml", 405, "GET, HEAD"},
		"the reader does not accept an unknown method": {"FOO", "/docs", 405, "GET, HEAD"},
		"an unknown file is not found":                 {http.MethodGet, "/docs/none.js", 404, ""},
		"a path cannot leave the pages":                {http.MethodGet, "/docs/../customers", 404, ""},
		"an escaped path does not match a route":       {http.MethodGet, "/%63ustomers", 404, ""},
		"a page with a trailing slash is not found":    {http.MethodGet, "/openapi.yaml/", 404, ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := g.do(request{Method: tt.method, Path: tt.path, Token: g.token()})
			reason := fault.ReasonNotFound
			if tt.code == 405 {
				reason = fault.ReasonMethodNotAllowed
			}
			if a.Code != tt.code || !strings.Contains(a.Body, `"code":"`+reason+`"`) || a.Header.Get("Allow") != tt.allow {
				t.Errorf("got %d, Allow %q, %s", a.Code, a.Header.Get("Allow"), a.Body)
			}
		})
	}
}
