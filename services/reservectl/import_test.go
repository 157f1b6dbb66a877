package reservectl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

func TestCustomerImport(t *testing.T) {
	w := newWorld(t)
	t.Run("CSV and NDJSON import the same customer", func(t *testing.T) {
		csv := w.write(t, "a.csv", "reference,first name,lastname,email,mobile,archived,created_at\nC-1,Zoë,Ö,z@x, +44 1 ,TRUE,2024-05-06\n")
		ndjson := w.write(t, "a.ndjson", `{"customer_id":"C-2","firstName":" Zoë","last_name":"Ö","email":"z@x","mobile":"+44 1","archived":true,"createdAt":"2024-05-06T00:00:00Z","type":"customer"}`)
		ok(t, "customer", "import", csv)
		ok(t, "customer", "import", ndjson)
		one, two := w.customers["C-1"], w.customers["C-2"]
		two.Reference = one.GetReference()
		if one.String() != two.String() || one.GetFirstName() != "Zoë" || !one.GetArchived() || one.GetMobile() != "+44 1" {
			t.Errorf("got %v and %v", one, two)
		}
	})
	t.Run("an empty file imports nothing", func(t *testing.T) {
		for _, name := range []string{"empty.csv", "empty.ndjson"} {
			r := run(t, "", "customer", "import", w.write(t, name, ""))
			if r.code != 0 || summed(t, r) != (counts{}) {
				t.Errorf("%s: %+v", name, r)
			}
		}
	})
	t.Run("an unknown column is reported on standard error, and standard output stays JSON", func(t *testing.T) {
		r := run(t, "reference,firstname,lastname,email,shoe size,mobil\nC-3,A,B,a@x,44,5\n", "customer", "import", "-", "--format", "csv")
		if r.code != 0 || summed(t, r).Created != 1 {
			t.Fatalf("got %+v", r)
		}
		if !strings.Contains(r.errOut, `ignoring the unknown column "shoe size"`+"\n") || !strings.Contains(r.errOut, `ignoring the unknown column "mobil"; did you mean mobile?`) {
			t.Errorf("got %s", r.errOut)
		}
		if !strings.Contains(r.errOut, "1 customer, ") {
			t.Errorf("no progress in %s", r.errOut)
		}
	})
	t.Run("a header without a required column stores nothing", func(t *testing.T) {
		before := len(w.customers)
		r := run(t, "", "customer", "import", w.write(t, "b.csv", "reference,firstname,lastname\nC-9,A,B\n"))
		if r.code != 1 || !strings.Contains(r.errOut, "b.csv: the header has no column email") || len(w.customers) != before {
			t.Errorf("got %+v", r)
		}
	})
	t.Run("a file that cannot be read to its end reports what was stored", func(t *testing.T) {
		in := io.MultiReader(strings.NewReader("reference,firstname,lastname,email\nC-4,A,B,a@x\n"), iotest.ErrReader(io.ErrClosedPipe))
		r := runUntil(t.Context(), in, "customer", "import", "-", "--format", "csv")
		if r.code != 1 || r.out != "" || !strings.Contains(r.errOut, "the import stopped after 1 customer: 1 created, 0 existed before") || !strings.Contains(r.errOut, "closed pipe") {
			t.Errorf("got %+v", r)
		}
	})
	t.Run("a report that cannot be written is an error", func(t *testing.T) {
		r := run(t, "reference,firstname,lastname,email\nC-5,A,B,bad\n", "customer", "import", "-", "--format", "csv", "--refused", filepath.Join(w.dir, "no", "where.csv"))
		if r.code != 1 || !strings.Contains(r.errOut, "where.csv") {
			t.Errorf("got %+v", r)
		}
	})
}

func TestRefusalOf(t *testing.T) {
	if err := refusalOf(nil); err != nil {
		t.Errorf("nil gives %v", err)
	}
	var refused refusal
	if err := refusalOf(fault.InvalidFields(fault.Field{Field: "title", Rule: "max_length", Message: "is too long"})); !errors.As(err, &refused) || refused.field != "title" {
		t.Errorf("a violation gives %v", err)
	}
	broken := errors.New("the rule of a field has no meaning")
	if err := refusalOf(broken); !errors.Is(err, broken) || errors.As(err, &refused) {
		t.Errorf("an error about no field gives %v", err)
	}
}

// TestRefusedJSON refuses lines of NDJSON before they are sent, or by the service.
func TestRefusedJSON(t *testing.T) {
	w := newWorld(t)
	for text, want := range map[string]string{
		`{"reference":"R","firstname":5}`:            "R firstname type",
		`{"reference":7}`:                            " reference type",
		`{"reference":"R","archived":"yes"}`:         "R archived type",
		`{"reference":"R","created_at":"yesterday"}`: "R created_at format",
		`{"reference":"R",`:                          " line json",
		`["R"]`:                                      " line type",
		`null`:                                       " line type",
		`{"reference":"R","email":"nonsense"}`:       "R email format",
		`{"reference":"R","firstname":null,"email":"none!"}`: "R email format",
	} {
		t.Run("refuses "+text, func(t *testing.T) {
			// With a blank line before it, an array does not look like a file that is one array.
			r := run(t, "\n"+text, "customer", "import", "-", "--format", "ndjson", "--refused", filepath.Join(w.dir, "r.ndjson"))
			if r.code != 3 || summed(t, r).Refused != 1 {
				t.Fatalf("got %+v", r)
			}
			var line struct {
				Refused struct {
					Line                            int
					Reference, Field, Rule, Message string
				}
			}
			read(t, filepath.Join(w.dir, "r.ndjson"), &line)
			got := line.Refused
			if fmt.Sprint(got.Reference, " ", got.Field, " ", got.Rule) != want || got.Line != 2 || !strings.HasPrefix(got.Message, got.Field+" ") {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func read(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
}

// TestCorrecting is invariant 4: it corrects reports and imports them.
func TestCorrecting(t *testing.T) {
	t.Run("CSV", func(t *testing.T) {
		w := newWorld(t)
		path := w.write(t, "c.csv", "reference;firstname;lastname;note;email\nC-1;A;B;;a@x\nC-2;\"Quoted; \"\"Q\"\"\";B;keep me;bad\nC-3;5\" nail;B;;c@x\nC-4;D;B;;d@x;extra\n")
		r := run(t, "", "customer", "import", path)
		report := filepath.Join(w.dir, "c.refused.csv")
		if sum := summed(t, r); r.code != 3 || sum != (counts{Read: 4, Created: 1, Refused: 3, Report: report}) {
			t.Fatalf("got %+v", r)
		}
		if want := "reservectl: 3 of 4 customers refused; correct them in " + report + " and import that file\n"; !strings.HasSuffix(r.errOut, want) {
			t.Errorf("standard error is %q", r.errOut)
		}
		text, err := os.ReadFile(report)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			"refused_line;refused_reference;refused_field;refused_message;reference;firstname;lastname;note;email\n",
			`3;C-2;email;email must be an email address;C-2;"Quoted; ""Q""";B;keep me;bad` + "\n", `C-3;5" nail;B;;c@x` + "\n", "5;C-4;line;",
		} {
			if !strings.Contains(string(text), want) {
				t.Errorf("%q is not in\n%s", want, text)
			}
		}
		corrected := strings.NewReplacer(";bad", ";q@x", `5" nail`, `"5"" nail"`).Replace(string(text))
		again := w.write(t, "c.refused.csv", corrected)
		r = run(t, "", "customer", "import", again)
		if sum := summed(t, r); r.code != 3 || sum.Created != 2 || sum.Refused != 1 || sum.Report != filepath.Join(w.dir, "c.refused.refused.csv") {
			t.Fatalf("got %+v in\n%s", r, corrected)
		}
		if c := w.customers["C-2"]; c.GetFirstName() != `Quoted; "Q"` || c.GetEmail() != "q@x" {
			t.Errorf("got %v", c)
		}
		if c := w.customers["C-3"]; c.GetFirstName() != `5" nail` {
			t.Errorf("got %v", c)
		}
		text, err = os.ReadFile(filepath.Join(w.dir, "c.refused.refused.csv"))
		if err != nil || strings.Count(string(text), "refused_line") != 1 || !strings.HasSuffix(string(text), ";C-4;D;B;;d@x;extra\n") {
			t.Errorf("%v: a report of a report is\n%s", err, text)
		}
	})
	t.Run("NDJSON", func(t *testing.T) {
		w := newWorld(t)
		path := w.write(t, "c.ndjson", `{"z":{"a":[1.50,"&"]},"reference":"C-1","firstname":"A","lastname":"B","email":"bad"}`+"\n"+`{"reference":"C-2",`+"\n")
		if r := run(t, "", "customer", "import", path); r.code != 3 || summed(t, r).Refused != 2 {
			t.Fatalf("got %+v", r)
		}
		report := filepath.Join(w.dir, "c.refused.ndjson")
		text, err := os.ReadFile(report)
		if err != nil {
			t.Fatal(err)
		}
		lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
		slices.SortFunc(lines, func(a, b []byte) int { return len(b) - len(a) })
		if len(lines) != 2 || !strings.HasSuffix(string(lines[0]), `},"z":{"a":[1.50,"&"]},"reference":"C-1","firstname":"A","lastname":"B","email":"bad"}`) {
			t.Errorf("got\n%s", text)
		}
		again := w.write(t, "again.ndjson", strings.Replace(string(text), `"bad"`, `"a@x"`, 1))
		if r := run(t, "", "customer", "import", again); r.code != 3 || summed(t, r).Created != 1 {
			t.Fatalf("got %+v", r)
		}
		var broken struct{ Refused struct{ Text string } }
		read(t, filepath.Join(w.dir, "again.refused.ndjson"), &broken)
		if broken.Refused.Text != `{"reference":"C-2",` {
			t.Errorf("the text that is not JSON is reported as %+v", broken)
		}
	})
	t.Run("a refused purchase of several lines is reported with all of them", func(t *testing.T) {
		w := newWorld(t)
		path := w.write(t, "p.csv", purchaseHeader+
			purchaseLine("P-1", "c", "CARD")+purchaseLine("P-1", "c", "CHEQUE")+purchaseLine("P-1", "c", "CARD")+
			purchaseLine("P-2", "c", "CARD")+purchaseLine("P-2", "c", "PASS")+
			purchaseLine("P-3", "nobody", "CARD")+purchaseLine("P-3", "nobody", "CARD"))
		r := run(t, "", "transaction", "import", path)
		if sum := summed(t, r); r.code != 3 || sum.Created != 1 || sum.Refused != 2 || len(w.purchases["P-2"].GetBookings()) != 2 {
			t.Fatalf("got %+v, %v", r, w.purchases)
		}
		text, err := os.ReadFile(filepath.Join(w.dir, "p.refused.csv"))
		if err != nil || strings.Count(string(text), "\n") != 6 || strings.Count(string(text), `"payment.method must be CARD, PASS, CASH, BANK_TRANSFER, ONLINE, OTHER or FREE",P-1`) != 3 {
			t.Fatalf("%v\n%s", err, text)
		}
		again := w.write(t, "again.csv", strings.NewReplacer("CHEQUE", "cash", "nobody", "somebody").Replace(string(text)))
		if r := run(t, "", "transaction", "import", again); r.code != 0 || summed(t, r).Created != 2 {
			t.Fatalf("got %+v", r)
		}
		var methods []bookingv1.PaymentMethod
		for _, b := range w.purchases["P-1"].GetBookings() {
			methods = append(methods, b.GetCard().GetMethod())
		}
		card, cash := bookingv1.PaymentMethod_PAYMENT_METHOD_CARD, bookingv1.PaymentMethod_PAYMENT_METHOD_CASH
		if !slices.Equal(methods, []bookingv1.PaymentMethod{card, cash, card}) {
			t.Errorf("the corrected purchase is paid by %v", methods)
		}
	})
}

const purchaseHeader = "reference,customer,purchase_date,event_reference,event_name,event_date,duration,method,currency,gross\n"

func purchaseLine(reference, customer, method string) string {
	return reference + "," + customer + ",2025-08-01T10:00:00,E,Yin,2025-08-05T19:00:00,60," + method + ",GBP,5\n"
}

// TestResuming is invariant 3: it repeats imports that failed.
func TestResuming(t *testing.T) {
	const n = 11_000
	var file strings.Builder
	file.WriteString("reference,firstname,lastname,email\n")
	for i := range n {
		fmt.Fprintf(&file, "C-%d,A,B,%d@x\n", i, i)
	}
	t.Run("after a failure the same command continues and stores nothing twice", func(t *testing.T) {
		w := newWorld(t)
		path := w.write(t, "many.csv", file.String())
		w.cutAfter = 3
		r := run(t, "", "customer", "import", path)
		if r.code != 1 || r.out != "" || !strings.Contains(r.errOut, "run the same command again to continue") || !strings.Contains(r.errOut, fault.ReasonServiceUnavailable) {
			t.Fatalf("got %+v", r)
		}
		stored := len(w.customers)
		if stored < 3*batchSize || stored == n {
			t.Fatalf("%d were stored before the failure", stored)
		}
		w.cutAfter = 0
		r = run(t, "", "customer", "import", path)
		if sum := summed(t, r); r.code != 0 || sum != (counts{Read: n, Created: n - stored, Existed: stored}) || len(w.customers) != n {
			t.Errorf("got %+v with %d stored", r, len(w.customers))
		}
	})
	t.Run("batches have a bounded number of items", func(t *testing.T) {
		w := newWorld(t)
		ok(t, "customer", "import", w.write(t, "many.csv", file.String()))
		if want := []int{batchSize, batchSize, batchSize, batchSize, batchSize, n - 5*batchSize}; !slices.Equal(w.batches, want) {
			t.Errorf("got %v", w.batches)
		}
	})
	t.Run("batches have a bounded number of bytes, so that long lines fit into a message", func(t *testing.T) {
		w := newWorld(t)
		var long strings.Builder
		for i := range 1000 {
			fmt.Fprintf(&long, `{"reference":"C-%d","firstname":%q,"lastname":"B","email":"a@x"}`+"\n", i, strings.Repeat("x", 10_000))
		}
		ok(t, "customer", "import", w.write(t, "long.ndjson", long.String()))
		if want := []int{418, 418, 164}; !slices.Equal(w.batches, want) || len(w.customers) != 1000 {
			t.Errorf("got %v", w.batches)
		}
	})
	t.Run("a line whose text is too long is refused without the rest of its batch", func(t *testing.T) {
		w := newWorld(t)
		lines := fmt.Sprintf(`{"reference":"C-1","firstname":%q,"lastname":"B","email":"a@x"}`+"\n", strings.Repeat("x", 10_001)) +
			`{"reference":"C-2","firstname":"A","lastname":"B","email":"a@x"}` + "\n"
		r := run(t, "", "customer", "import", w.write(t, "long.ndjson", lines))
		if sum := summed(t, r); sum.Created != 1 || sum.Refused != 1 || len(w.customers) != 1 {
			t.Errorf("got %+v", r)
		}
	})
	t.Run("Ctrl-C ends an import that waits for its input", func(t *testing.T) {
		w := newWorld(t)
		ctx, cancel := context.WithCancel(t.Context())
		in, out := io.Pipe()
		defer out.Close()
		go func() {
			// The second write returns once the command has read all of the first one.
			_, _ = out.Write([]byte(file.String()))
			_, _ = out.Write([]byte("C-last,A,B,l@x\n"))
			cancel()
		}()
		r := runUntil(ctx, in, "customer", "import", "-", "--format", "csv")
		if r.code != 1 || !strings.Contains(r.errOut, "reservectl: interrupted\n") {
			t.Errorf("got %+v", r)
		}
		_ = w
	})
}

func TestSeed(t *testing.T) {
	w := newWorld(t)
	t.Chdir(w.dir)
	type seeded struct {
		CustomersCreated, CustomersExisted, BookingsCreated, BookingsExisted, Refused int
	}
	seed := func(t *testing.T, args ...string) (s seeded) {
		t.Helper()
		out := ok(t, append([]string{"seed"}, args...)...)
		if err := json.Unmarshal([]byte(strings.ReplaceAll(out, "_", "")), &s); err != nil {
			t.Fatalf("%v in %s", err, out)
		}
		return s
	}
	t.Run("creates the given numbers of customers and bookings", func(t *testing.T) {
		if got := seed(t, "--customers", "300", "--bookings", "2500"); got != (seeded{CustomersCreated: 300, BookingsCreated: 2500}) {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("all purchasers are customers, and bookings for others are for other customers", func(t *testing.T) {
		for reference, p := range w.purchases {
			b := p.GetBookings()[0]
			if w.customers[p.GetCustomer()] == nil || b.GetBoughtFor() == p.GetCustomer() || b.GetBoughtFor() != "" && w.customers[b.GetBoughtFor()] == nil {
				t.Errorf("%s: %v", reference, p)
			}
		}
	})
	t.Run("a second run creates only what is missing", func(t *testing.T) {
		if got := seed(t, "--customers", "310", "--bookings", "2501"); got != (seeded{10, 300, 1, 2500, 0}) {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("another prefix creates other data", func(t *testing.T) {
		if got := seed(t, "--customers", "10", "--prefix", "other"); got != (seeded{CustomersCreated: 10}) {
			t.Errorf("got %+v", got)
		}
	})
}
