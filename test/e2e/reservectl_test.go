package e2e

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"reservation.dev/test/harness"
)

// operator runs reservectl against an instance.
type operator struct {
	s   *harness.Standalone
	dir string
}

func (o operator) run(t *testing.T, input string, args ...string) harness.Result {
	t.Helper()
	return harness.Run(t, harness.Command{
		Program: "reservectl", Args: args, Input: input, Dir: o.dir,
		Env: map[string]string{"RESERVATION_CREDENTIALS": o.s.CredentialsFile()},
	})
}

// ok runs a command, fails t unless it succeeds, and returns its standard output.
func (o operator) ok(t *testing.T, args ...string) string {
	t.Helper()
	return o.run(t, "", args...).Succeeded(t)
}

func (o operator) file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(o.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// The JSON that reservectl prints.
type (
	company struct {
		ID, Name, Timezone, Currency string
		UniqueEmails                 bool `json:"unique_customer_emails"`
		OptionalEmails               bool `json:"optional_customer_emails"`
	}
	secret struct {
		ID     string   `json:"client_id"`
		Secret string   `json:"client_secret"`
		Scopes []string `json:"scopes"`
		State  string   `json:"state"`
		Name   string   `json:"name"`
	}
	imported struct {
		Read, Created, Existed, Refused int
		Report                          string
	}
	refusedLine struct {
		Line                            int
		Reference, Field, Rule, Message string
	}
)

func TestReservectl(t *testing.T) {
	t.Parallel()
	o := operator{s: harness.StartStandalone(t, harness.StandaloneOptions{}), dir: harness.TempDir(t)}
	c := decode[company](t, o.ok(t, "company", "create", "--name", "Riverside Yoga", "--timezone", "Europe/London", "--currency", "GBP"))
	client := decode[secret](t, o.ok(t, "client", "create", "--company", c.ID, "--name", "CRM", "--scopes", strings.Join(harness.AllScopes(), ",")))
	a := o.s.A(t)
	n := &tenant{a: a, token: a.Token(t, harness.Credential{ID: client.ID, Secret: client.Secret})}

	t.Run("help", o.testHelp)
	t.Run("company", func(t *testing.T) { o.testCompany(t, c) })
	t.Run("client", func(t *testing.T) { o.testClient(t, c.ID) })
	t.Run("key", func(t *testing.T) { o.testKey(t, c.ID) })
	t.Run("admin", o.testAdmin)
	t.Run("customer import", func(t *testing.T) { o.testCustomerImport(t, c.ID, n) })
	t.Run("transaction import", func(t *testing.T) { o.testTransactionImport(t, c.ID, n) })
	t.Run("resources", func(t *testing.T) { o.testResources(t, c.ID) })
	t.Run("imports of subscriptions and media", o.testSubscriptionImports)
	t.Run("appointment imports", o.testAppointmentImports)
	t.Run("seed", o.testSeed)
	t.Run("credential", func(t *testing.T) { o.testCredential(t, c.ID) })
	t.Run("without a platform", o.testAlone)
	t.Run("signing-key", func(t *testing.T) { o.testSigningKeys(t, n) })
}

func (o operator) testHelp(t *testing.T) {
	t.Run("every command has help", func(t *testing.T) {
		for _, command := range []string{
			"", "company", "company create", "company update", "company list", "client", "client create", "client list", "client update", "client rotate",
			"client end-previous-secret", "client disable", "client enable", "client delete", "key", "key create", "key list", "key update", "key rotate",
			"key end-previous-secret", "key disable", "key enable", "key delete", "credential", "credential create", "credential list", "credential rotate",
			"credential end-previous-secret", "credential disable", "signing-key", "signing-key rotate", "signing-key list",
			"admin", "admin create", "admin list", "admin disable", "admin enable", "admin reset-password",
			"customer", "customer import", "transaction", "transaction import", "plan import", "subscription import", "media import", "media upload", "seed",
		} {
			out := o.ok(t, append(strings.Fields(command), "--help")...)
			if !strings.Contains(out, "Usage:") || !strings.Contains(out, "reservectl "+command) {
				t.Errorf("%q: %s", command, out)
			}
		}
	})
	t.Run("reservectl and a command group without a subcommand show help", func(t *testing.T) {
		for _, args := range [][]string{nil, {"client"}} {
			if out := o.ok(t, args...); !strings.Contains(out, "Available Commands:") {
				t.Errorf("%v: %s", args, out)
			}
		}
	})
	t.Run("a usage error exits with status 2 and prints one line on standard error", func(t *testing.T) {
		for _, args := range [][]string{
			{"frobnicate"}, {"client", "frobnicate"}, {"company", "create"}, {"company", "list", "--frobnicate"}, {"client", "rotate"}, {"key", "create"}, {"key", "delete"},
			{"customer", "import"}, {"company", "list", "-o", "xml"}, {"seed", "--customers", "-1", "--company", "x"}, {"client", "list", "--company", "nonsense"},
		} {
			r := o.run(t, "", args...)
			if r.Code != 2 || r.Output != "" || !strings.HasPrefix(r.Errors, "reservectl: ") {
				t.Errorf("%v: exit status %d, %q, %q", args, r.Code, r.Output, r.Errors)
			}
		}
	})
}

func (o operator) testCompany(t *testing.T, c company) {
	t.Run("create prints the company as JSON", func(t *testing.T) {
		if !strings.HasPrefix(c.ID, "comp_") || c.Name != "Riverside Yoga" || c.Timezone != "Europe/London" || c.Currency != "GBP" {
			t.Errorf("got %+v", c)
		}
	})
	t.Run("list shows the company, as JSON and as a table", func(t *testing.T) {
		if all := decode[[]company](t, o.ok(t, "company", "list")); !slices.Contains(all, c) {
			t.Errorf("got %+v", all)
		}
		lines := strings.Split(o.ok(t, "company", "list", "--output", "table"), "\n")
		if !strings.HasPrefix(lines[0], "ID") || !strings.Contains(lines[0], "TIMEZONE") {
			t.Errorf("the header is %q", lines[0])
		}
		if !slices.ContainsFunc(lines[1:], func(line string) bool {
			return strings.HasPrefix(line, c.ID) && strings.Contains(line, "Riverside Yoga")
		}) {
			t.Errorf("got %q", lines)
		}
	})
	t.Run("update changes only the given fields", func(t *testing.T) {
		made := decode[company](t, o.ok(t, "company", "create", "--name", "X", "--timezone", "UTC", "--currency", "EUR", "--unique-emails", "--optional-emails"))
		if !made.UniqueEmails || !made.OptionalEmails {
			t.Errorf("got %+v", made)
		}
		want := company{ID: made.ID, Name: "Y", Timezone: "UTC", Currency: "EUR", UniqueEmails: true, OptionalEmails: true}
		if got := decode[company](t, o.ok(t, "company", "update", "--company", made.ID, "--name", "Y")); got != want {
			t.Errorf("got %+v", got)
		}
		want.UniqueEmails = false
		if got := decode[company](t, o.ok(t, "company", "update", "--company", made.ID, "--unique-emails=false")); got != want {
			t.Errorf("got %+v", got)
		}
		want.OptionalEmails = false
		if got := decode[company](t, o.ok(t, "company", "update", "--company", made.ID, "--optional-emails=false")); got != want {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("a refusal by the service exits with status 1 and prints its message", func(t *testing.T) {
		r := o.run(t, "", "company", "create", "--name", "X", "--timezone", "Europe/Atlantis", "--currency", "GBP")
		if r.Code != 1 || !strings.Contains(r.Errors, "timezone") || !strings.Contains(r.Errors, "VALIDATION_ERROR") || r.Output != "" {
			t.Errorf("exit status %d: %q %q", r.Code, r.Output, r.Errors)
		}
	})
}

func (o operator) testClient(t *testing.T, companyID string) {
	a := o.s.A(t)
	made := decode[secret](t, o.ok(t, "client", "create", "--company", companyID, "--name", "Reports", "--scopes", "customers:read,bookings:read"))
	list := func(t *testing.T) (secret, string) {
		t.Helper()
		out := o.ok(t, "client", "list", "--company", companyID)
		for _, c := range decode[[]secret](t, out) {
			if c.ID == made.ID {
				return c, out
			}
		}
		t.Fatalf("%s is not in %s", made.ID, out)
		return secret{}, ""
	}
	credential := harness.Credential{ID: made.ID, Secret: made.Secret}
	token := a.Token(t, credential)
	dead := func(t *testing.T, token string) {
		t.Helper()
		harness.Eventually(t, eventLimit, func() error { return refused(a, token) })
	}
	t.Run("a new client's secret is shown once and works", func(t *testing.T) {
		c, out := list(t)
		if strings.Contains(out, made.Secret) || c.State != "active" || c.Name != "Reports" {
			t.Errorf("got %s", out)
		}
		equal(t, "scopes", c.Scopes, []string{"bookings:read", "customers:read"})
		a.Do(t, harness.Request{Path: "/customers", Token: token}).Into(t, http.StatusOK, nil)
	})
	t.Run("rotate returns a new secret and revokes the tokens of the old one", func(t *testing.T) {
		rotated := decode[secret](t, o.ok(t, "client", "rotate", made.ID, "--company", companyID))
		if rotated.ID != made.ID || rotated.Secret == made.Secret || len(rotated.Secret) != 64 {
			t.Errorf("got %+v", rotated)
		}
		dead(t, token)
		a.Do(t, harness.TokenRequest(credential)).Refused(t, http.StatusUnauthorized, "INVALID_CREDENTIALS")
		credential.Secret = rotated.Secret
		token = a.Token(t, credential)
	})
	t.Run("disable turns the client off, and enable turns it on", func(t *testing.T) {
		if c := decode[secret](t, o.ok(t, "client", "disable", made.ID, "--company", companyID)); c.State != "disabled" {
			t.Errorf("got %+v", c)
		}
		dead(t, token)
		a.Do(t, harness.TokenRequest(credential)).Refused(t, http.StatusUnauthorized, "INVALID_CREDENTIALS")
		if c := decode[secret](t, o.ok(t, "client", "enable", made.ID, "--company", companyID)); c.State != "active" {
			t.Errorf("got %+v", c)
		}
		if err := refused(a, token); err != nil {
			t.Errorf("a token from before the client was disabled: %v", err)
		}
		token = a.Token(t, credential)
	})
	t.Run("delete removes the client permanently", func(t *testing.T) {
		o.ok(t, "client", "delete", made.ID, "--company", companyID)
		dead(t, token)
		if r := o.run(t, "", "client", "rotate", made.ID, "--company", companyID); r.Code != 1 || !strings.Contains(r.Errors, "NOT_FOUND") {
			t.Errorf("exit status %d: %s", r.Code, r.Errors)
		}
	})
	t.Run("-o table prints a table with a header", func(t *testing.T) {
		out := o.ok(t, "client", "list", "--company", companyID, "-o", "table")
		if !strings.HasPrefix(out, "CLIENT_ID") || !strings.Contains(out, "customers:read") {
			t.Errorf("got %s", out)
		}
	})
}

// report reads the report of an import, the refused lines in the format of its input.
func report(t *testing.T, path string) []refusedLine {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var lines []refusedLine
	if strings.HasSuffix(path, ".csv") {
		rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		for _, row := range rows[1:] {
			line, err := strconv.Atoi(row[0])
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, refusedLine{Line: line, Reference: row[1], Field: row[2], Message: row[3]})
		}
		return lines
	}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		lines = append(lines, decode[struct{ Refused refusedLine }](t, line).Refused)
	}
	return lines
}

func (o operator) testCustomerImport(t *testing.T, companyID string, n *tenant) {
	n.a = o.s.A(t)
	csv := "\ufeffReference,First Name,lastName,E-Mail,mobile,archived,created_at\n" +
		"C-1,Zoë,O'Brien,zoe@example.com,+44 7700 900123,false,2024-05-06\n" +
		"C-2,\"Quoted, \"\"Q\"\"\",Ö,q@example.com,,true,\n" +
		"C-3,No,Email,nonsense,,,\n" +
		"C-4,Bad,Archived,b@example.com,,maybe,\n" +
		",No,Reference,n@example.com,,,\n" +
		"C-5,Last,One,last@example.com,,,2024-05-06T07:08:09Z\n"
	path := o.file(t, "customers.csv", csv)
	t.Run("valid lines are stored, refused lines are reported, and the exit status is not 0", func(t *testing.T) {
		r := o.run(t, "", "customer", "import", path, "--company", companyID)
		sum := decode[imported](t, r.Output)
		if r.Code != 3 || sum.Read != 6 || sum.Created != 3 || sum.Existed != 0 || sum.Refused != 3 {
			t.Fatalf("exit status %d: %s %s", r.Code, r.Output, r.Errors)
		}
		if sum.Report != strings.TrimSuffix(path, ".csv")+".refused.csv" {
			t.Errorf("the report is %s", sum.Report)
		}
		lines := report(t, sum.Report)
		slices.SortFunc(lines, func(a, b refusedLine) int { return a.Line - b.Line })
		var got []string
		for _, line := range lines {
			got = append(got, fmt.Sprint(line.Line, " ", line.Reference, " ", line.Field))
			if line.Message == "" {
				t.Errorf("got %+v", line)
			}
		}
		equal(t, "refused", got, []string{"4 C-3 email", "5 C-4 archived", "6  reference"})
	})
	t.Run("imported customers are on Interface A immediately", func(t *testing.T) {
		got := map[string]listedCustomer{}
		for _, c := range n.customers(t, "").Data {
			got[c.Email] = c
		}
		zoe, quoted := got["zoe@example.com"], got["q@example.com"]
		if len(got) != 3 || zoe.Firstname != "Zoë" || zoe.Mobile != "+44 7700 900123" || *zoe.Archived {
			t.Errorf("got %+v", got)
		}
		if quoted.Firstname != `Quoted, "Q"` || quoted.Lastname != "Ö" || !*quoted.Archived || quoted.Mobile != "" {
			t.Errorf("got %+v", quoted)
		}
	})
	t.Run("the corrected report can be imported", func(t *testing.T) {
		text, err := os.ReadFile(strings.TrimSuffix(path, ".csv") + ".refused.csv")
		if err != nil {
			t.Fatal(err)
		}
		corrected := o.file(t, "corrected.csv", strings.NewReplacer("nonsense", "good@example.com", "maybe", "yes").Replace(string(text)))
		r := o.run(t, "", "customer", "import", corrected, "--company", companyID)
		if sum := decode[imported](t, r.Output); r.Code != 3 || sum.Created != 1 || sum.Refused != 2 {
			t.Errorf("exit status %d: %s %s", r.Code, r.Output, r.Errors)
		}
	})
	t.Run("a second import changes nothing", func(t *testing.T) {
		good := o.file(t, "again.csv", strings.Replace(strings.Join(strings.SplitAfter(csv, "\n")[:3], ""), "Zoë", "Changed", 1))
		sum := decode[imported](t, o.ok(t, "customer", "import", good, "--company", companyID))
		if sum.Read != 2 || sum.Created != 0 || sum.Existed != 2 || sum.Report != "" {
			t.Errorf("got %+v", sum)
		}
		for _, c := range n.customers(t, "").Data {
			if c.Firstname == "Changed" {
				t.Errorf("got %+v", c)
			}
		}
	})
	t.Run("NDJSON is read from standard input too", func(t *testing.T) {
		input := `{"reference":"N-1","firstName":"Nina","lastName":"Son","email":"nina@example.com","archived":true}
{"reference":"N-2","firstname":5,"lastname":"x","email":"x@example.com"}

{"reference":"N-3",
{"reference":"N-4","first_name":"Nick","last_name":"Son","email":"nick@example.com","mobile":null}`
		r := o.run(t, input, "customer", "import", "-", "--format", "ndjson", "--company", companyID, "--refused", filepath.Join(o.dir, "out.ndjson"))
		sum := decode[imported](t, r.Output)
		if r.Code != 3 || sum.Created != 2 || sum.Refused != 2 {
			t.Fatalf("exit status %d: %s %s", r.Code, r.Output, r.Errors)
		}
		lines := report(t, filepath.Join(o.dir, "out.ndjson"))
		if len(lines) != 2 || lines[0].Line != 2 || lines[1].Line != 4 || lines[1].Rule != "json" {
			t.Errorf("got %+v", lines)
		}
	})
	t.Run("the result can be printed as a table", func(t *testing.T) {
		again := o.file(t, "table.csv", "reference,firstname,lastname,email\nC-1,Z,O,z@example.com\n")
		out := o.ok(t, "customer", "import", again, "--company", companyID, "-o", "table")
		if !strings.Contains(out, "existed") || strings.Contains(out, "{") {
			t.Errorf("got %s", out)
		}
	})
	t.Run("a missing file exits with status 1", func(t *testing.T) {
		if r := o.run(t, "", "customer", "import", "nowhere.csv", "--company", companyID); r.Code != 1 || !strings.Contains(r.Errors, "nowhere.csv") {
			t.Errorf("exit status %d: %s", r.Code, r.Errors)
		}
	})
}

func (o operator) testTransactionImport(t *testing.T, companyID string, n *tenant) {
	n.a = o.s.A(t)
	people := o.file(t, "people.csv", "reference,firstname,lastname,email\nT-17,Tess,One,tess@example.com\nT-18,Tom,Two,tom@example.com\n")
	o.ok(t, "customer", "import", people, "--company", companyID)
	id := map[string]string{}
	for _, c := range n.customers(t, "").Data {
		id[c.Email] = c.ID
	}
	tess := id["tess@example.com"]
	t.Run("NDJSON has the format of Interface A, and Interface A returns the same data", func(t *testing.T) {
		line := map[string]any{
			"reference": "P-1001", "customer": "T-17", "purchase_date": "2025-07-03T18:20:00",
			"bookings": []any{map[string]any{
				"spaces": 2, "is_cancelled": true, "is_refunded": true, "bought_for": "T-18",
				"event": map[string]any{"reference": "E-3", "name": "Morning Vinyasa", "type": "class",
					"date": map[string]any{"datetime": "2025-07-10T07:30:00", "tz": "America/New_York", "duration": 45, "capacity": 20}},
				"pricing_option": map[string]any{"name": "Drop-in"},
				"payment":        map[string]any{"method": "CARD", "currency": "GBP", "base100gross_price": 2400, "base100net_price": 2000},
			}},
		}
		text, err := json.Marshal(line)
		if err != nil {
			t.Fatal(err)
		}
		path := o.file(t, "history.ndjson", string(text)+"\n")
		for i, want := range []imported{{Read: 1, Created: 1}, {Read: 1, Existed: 1}} {
			if sum := decode[imported](t, o.ok(t, "transaction", "import", path, "--company", companyID)); sum != want {
				t.Errorf("run %d: got %+v", i+1, sum)
			}
		}
		page := n.bookings(t, tess, allTime)
		if len(page.Data) != 1 {
			t.Fatalf("got %+v", page)
		}
		got := page.Data[0]
		b := got.Bookings[0]
		if got.PurchaseDate != "2025-07-03T18:20:00" || b.Spaces != 2 || !b.IsCancelled || !b.IsRefunded || b.BoughtFor.ID != id["tom@example.com"] {
			t.Errorf("got %+v", got)
		}
		date := b.Event.Date
		if b.Event.Name != "Morning Vinyasa" || date.Datetime != "2025-07-10T07:30:00" || date.TZ != "America/New_York" || date.Duration != 45 {
			t.Errorf("got %+v", b.Event)
		}
		paid(t, b, `{"method":"CARD","currency":"GBP","base100gross_price":2400,"base100net_price":2000}`)
	})
	t.Run("CSV has one booking per line, and lines with the same reference are one purchase", func(t *testing.T) {
		csv := "reference,customer,purchase_date,spaces,event_reference,event_name,event_date,duration,method,currency,base100gross_price,credits_used\n" +
			"P-2,T-17,2025-08-01T10:00:00,1,E-4,Yin,2025-08-05T19:00:00,75,CARD,EUR,1500,\n" +
			"P-2,T-17,2025-08-01T10:00:00,2,E-5,Yang,2025-08-06T19:00:00,75,PASS,,,4\n" +
			"P-3," + tess + ",2025-08-02T10:00:00,1,E-4,Yin,2025-08-05T19:00:00,75,CARD,EUR,0,\n" +
			"P-4,T-17,2025-08-03T10:00:00,1,E-4,Yin,2025-08-05T19:00:00,75,CHEQUE,EUR,0,\n" +
			"P-5,nobody,2025-08-03T10:00:00,1,E-4,Yin,2025-08-05T19:00:00,75,CARD,EUR,0,\n"
		path := o.file(t, "history.csv", csv)
		r := o.run(t, "", "transaction", "import", path, "--company", companyID)
		sum := decode[imported](t, r.Output)
		if r.Code != 3 || sum.Created != 2 || sum.Refused != 2 {
			t.Fatalf("exit status %d: %s %s", r.Code, r.Output, r.Errors)
		}
		fields := map[string]string{}
		for _, line := range report(t, sum.Report) {
			fields[line.Reference] = line.Field
		}
		if fields["P-4"] != "payment.method" || fields["P-5"] != "customer" {
			t.Errorf("refused %v", fields)
		}
		page := n.bookings(t, tess, "?startDate=2025-08-01&endDate=2025-08-02")
		if page.Total != 2 || len(page.Data[1].Bookings) != 2 || page.Data[1].Bookings[1].Event.Name != "Yang" {
			t.Fatalf("got %+v", page)
		}
		paid(t, page.Data[1].Bookings[0], `{"method":"CARD","currency":"EUR","base100gross_price":1500,"base100net_price":1500}`)
		paid(t, page.Data[1].Bookings[1], `{"method":"PASS","currency":"CR","credits_used":4}`)
		if page.Data[0].Bookings[0].Event.ID != page.Data[1].Bookings[0].Event.ID {
			t.Error("one event reference created two events")
		}
	})
}

func (o operator) testSeed(t *testing.T) {
	c := decode[company](t, o.ok(t, "company", "create", "--name", "Load", "--timezone", "UTC", "--currency", "EUR"))
	client := decode[secret](t, o.ok(t, "client", "create", "--company", c.ID, "--name", "CRM", "--scopes", strings.Join(harness.AllScopes(), ",")))
	type seeded struct {
		CustomersCreated int `json:"customers_created"`
		CustomersExisted int `json:"customers_existed"`
		BookingsCreated  int `json:"bookings_created"`
		BookingsExisted  int `json:"bookings_existed"`
		Refused          int `json:"refused"`
	}
	seed := func(customers, bookings int) seeded {
		return decode[seeded](t, o.ok(t, "seed", "--company", c.ID, "--customers", fmt.Sprint(customers), "--bookings", fmt.Sprint(bookings)))
	}
	t.Run("seed creates the requested numbers of customers and bookings", func(t *testing.T) {
		if got := seed(300, 2500); got != (seeded{CustomersCreated: 300, BookingsCreated: 2500}) {
			t.Errorf("got %+v", got)
		}
		a := o.s.A(t)
		n := &tenant{a: a, token: a.Token(t, harness.Credential{ID: client.ID, Secret: client.Secret})}
		ids := n.customers(t, "").ids()
		bookings := 0
		for _, id := range ids {
			bookings += n.bookings(t, id, allTime+"&pageSize=1").Total
		}
		if len(ids) != 300 || bookings != 2500 {
			t.Errorf("Interface A has %d customers with %d bookings", len(ids), bookings)
		}
	})
	t.Run("a second run creates nothing again", func(t *testing.T) {
		if got := seed(300, 2500); got != (seeded{CustomersExisted: 300, BookingsExisted: 2500}) {
			t.Errorf("got %+v", got)
		}
	})
}

func (o operator) testAlone(t *testing.T) {
	t.Run("without credentials the error says how to provide them", func(t *testing.T) {
		r := harness.Run(t, harness.Command{Program: "reservectl", Args: []string{"company", "list"}})
		if r.Code != 2 || !strings.Contains(r.Errors, "RESERVATION_CREDENTIALS") {
			t.Errorf("exit status %d: %s", r.Code, r.Errors)
		}
	})
	t.Run("the error says that the platform is not running", func(t *testing.T) {
		r := harness.Run(t, harness.Command{Program: "reservectl", Args: []string{"company", "list", "--credentials", filepath.Join(o.dir, "nowhere.json")}})
		if r.Code != 1 || !strings.Contains(r.Errors, "nowhere.json") {
			t.Errorf("exit status %d: %s", r.Code, r.Errors)
		}
	})
	t.Run("a token and an address can replace the credentials file", func(t *testing.T) {
		args := []string{"company", "list", "--auth", o.s.Auth, "--token", o.s.Credentials.GRPC.ServiceToken}
		r := harness.Run(t, harness.Command{Program: "reservectl", Args: args})
		r.Succeeded(t)
	})
}
