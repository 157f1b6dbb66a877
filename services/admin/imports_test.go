package admin

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/csvfile"
	"reservation.dev/platform/customerfile"
	"reservation.dev/platform/id"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// importing is a fake of ImportCustomers. It refuses addresses without @, and knows the references that it stored.
type importing struct {
	*backend
	mu     sync.Mutex
	stored map[string]bool
	// asked are the references of all rows, and dry how many of them were only checked.
	asked []string
	dry   int
}

// importStream is a stream of one import.
type importStream struct {
	grpc.ClientStream
	i       *importing
	answers []*customerv1.ImportCustomersResponse
}

func (i *importing) NewStream(_ context.Context, _ *grpc.StreamDesc, method string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	if !strings.HasSuffix(method, "/ImportCustomers") {
		return nil, fmt.Errorf("no fake of %s", method)
	}
	return &importStream{i: i}, nil
}

func (s *importStream) SendMsg(m any) error {
	s.i.mu.Lock()
	defer s.i.mu.Unlock()
	req, res := m.(*customerv1.ImportCustomersRequest), &customerv1.ImportCustomersResponse{}
	for _, c := range req.GetCustomers() {
		s.i.asked = append(s.i.asked, c.GetReference())
		r := &customerv1.ImportCustomerResult{Reference: c.GetReference(), Outcome: customerv1.ImportOutcome_IMPORT_OUTCOME_CREATED}
		switch {
		case c.GetReference() == "":
			r.Outcome, r.Field, r.Rule, r.Message = customerv1.ImportOutcome_IMPORT_OUTCOME_REFUSED, "reference", "required", "is required"
		case !strings.Contains(c.GetEmail(), "@"):
			r.Outcome, r.Field, r.Rule, r.Message = customerv1.ImportOutcome_IMPORT_OUTCOME_REFUSED, "email", "email", "must be an e-mail address"
		case s.i.stored[c.GetReference()]:
			r.Outcome = customerv1.ImportOutcome_IMPORT_OUTCOME_EXISTED
		case req.GetDryRun():
			s.i.dry++
		default:
			s.i.stored[c.GetReference()] = true
		}
		res.Results = append(res.Results, r)
	}
	s.answers = append(s.answers, res)
	return nil
}

func (s *importStream) RecvMsg(m any) error {
	if len(s.answers) == 0 {
		return io.EOF
	}
	proto.Merge(m.(proto.Message), s.answers[0])
	s.answers = s.answers[1:]
	return nil
}

func (s *importStream) CloseSend() error { return nil }

// newImportWorld returns the dashboard with a fake import, in which nobody is stored yet.
func newImportWorld(t *testing.T) (*world, *importing) {
	t.Helper()
	w := newWorld(t)
	i := &importing{backend: w.backend, stored: map[string]bool{}}
	w.web.services = connectionsTo(i).services()
	w.signIn()
	return w, i
}

// upload sends a file of customers with a form of this session: field, value, field, value, …
func (w *world) upload(step, file string, pairs ...string) answer {
	w.t.Helper()
	return w.uploadOf("customers", step, file, pairs...)
}

// uploadOf sends a file of things of a kind.
func (w *world) uploadOf(kind, step, file string, pairs ...string) answer {
	w.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	fields := append([]string{csrfField, tokenOf(sessionToken, liveMode), keyField, id.NewUUID().String()}, pairs...)
	for i := 0; i+1 < len(fields); i += 2 {
		if err := form.WriteField(fields[i], fields[i+1]); err != nil {
			w.t.Fatal(err)
		}
	}
	part, err := form.CreateFormFile("file", kind+".csv")
	if err == nil {
		_, err = io.WriteString(part, file)
	}
	if err == nil {
		err = form.Close()
	}
	if err != nil {
		w.t.Fatal(err)
	}
	req, err := http.NewRequest(http.MethodPost, w.server.URL+"/imports/"+kind+"?step="+step, &body)
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Content-Type", form.FormDataContentType())
	return w.do(req)
}

const customersFile = "\ufeffE-Mail;Reference;Last Name;firstname;colour\nann@example.com;C-1;A;Ann;red\nnobody;C-2;'=B;Ben;\nzoe@example.com;C-3;Ö;Zoë;\nz@example.com;C-4;\"x\"y;Z;\n"

func digestOf(t *testing.T, a answer) string {
	t.Helper()
	_, rest, found := strings.Cut(a.body, `name="digest" value="`)
	digest, _, _ := strings.Cut(rest, `"`)
	if !found || len(digest) != 64 {
		t.Fatalf("no digest: %s", describe(a))
	}
	return digest
}

func TestImport(t *testing.T) {
	t.Parallel()
	w, fake := newImportWorld(t)
	preview := w.upload("preview", customersFile)
	t.Run("first shows what it would do, and stores nothing", func(t *testing.T) {
		preview.must(t, "2 customers would be imported", "2 rows would be refused", "The column colour is not known", "Import 2 customers",
			"must be an e-mail address.", `<td>3</td>`, `<td>5</td>`, "quote", "Download refused rows")
		if preview.StatusCode != http.StatusOK || len(fake.stored) > 0 || fake.dry != 2 || len(w.backend.called("RecordAuditEntry")) > 0 {
			t.Errorf("stored %v, %d checked", fake.stored, fake.dry)
		}
	})
	digest := digestOf(t, preview)
	t.Run("refuses another file than the one that was checked", func(t *testing.T) {
		for _, sent := range []string{"", strings.Repeat("0", 64)} {
			a := w.upload("import", customersFile, "digest", sent)
			if a.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(a.body, "This is not the file that was checked") || len(fake.stored) > 0 {
				t.Errorf("%s", describe(a))
			}
		}
	})
	t.Run("imports the checked file, and is in the audit log", func(t *testing.T) {
		w.upload("import", customersFile, "digest", digest).must(t, "2 customers were imported", "2 rows were refused")
		if len(fake.stored) != 2 || !fake.stored["C-1"] || !fake.stored["C-3"] {
			t.Errorf("stored %v", fake.stored)
		}
		want := &authv1.RecordAuditEntryRequest{Action: "company_data.import", Target: "customers", Details: []*authv1.AuditDetail{
			{Field: "file", After: "customers.csv"}, {Field: "rows", After: "4"}, {Field: "created", After: "2"}, {Field: "existed", After: "0"}, {Field: "refused", After: "2"},
		}}
		if calls := w.backend.called("RecordAuditEntry"); len(calls) != 1 || !proto.Equal(calls[0].req, want) {
			t.Errorf("got %v", calls)
		}
	})
	t.Run("changes nothing the second time", func(t *testing.T) {
		w.upload("import", customersFile, "digest", digest).must(t, "2 customers exist already", "0 customers were imported")
		if len(fake.stored) != 2 {
			t.Errorf("stored %v", fake.stored)
		}
	})
	t.Run("returns the refused rows as a file that can be corrected and imported", func(t *testing.T) {
		a := w.upload("refused", customersFile)
		want := "\ufeffrefused_line;error;E-Mail;Reference;Last Name;firstname;colour\n" +
			"3;email must be an e-mail address;nobody;C-2;'=B;Ben;\n" +
			"5;\"line has a quote (\"\") in the wrong place: put the whole value in quotes, and double each quote inside it\";\"z@example.com;C-4;\"\"x\"\"y;Z;\"\n"
		if diff := cmp.Diff(want, a.body); diff != "" || a.Header.Get("Content-Type") != "text/csv; charset=utf-8" ||
			a.Header.Get("Content-Disposition") != `attachment; filename="riverside-customers-refused.csv"` {
			t.Errorf("-want +got:\n%s\n%v", diff, a.Header)
		}
		corrected := strings.Replace(a.body, "nobody", "ben@example.com", 1)
		again := w.upload("preview", corrected)
		again.must(t, "1 customer would be imported", "1 row would be refused")
		if strings.Contains(again.body, "not known and is ignored") && strings.Contains(again.body, "column error") {
			t.Error("the column of the reasons is reported as unknown")
		}
		w.upload("refused", corrected).must(t, "refused_line;error;E-Mail")
	})
}

func TestImportBounds(t *testing.T) {
	t.Parallel()
	header := "reference,firstname,lastname,email\n"
	for _, tt := range []struct{ name, file, want string }{
		{"no rows", header, "The file has no rows"},
		{"nothing at all", "", "The file has no rows"},
		{"a missing column", "reference,firstname,lastname\nC,A,B\n", "the header has no column email"},
		{"UTF-16", "\xff\xfer\x00", "UTF-16"},
		{"too many rows", header + strings.Repeat("C,A,B,a@example.com\n", importRowsMost+1), "at most 50,000 rows"},
		{"too many bytes", header + strings.Repeat("x", importBytesMost), "at most 10 MB"},
		{"a row without an end", header + "\"" + strings.Repeat("x\n", csvfile.MaxRow/2+4096), "probably a quote is not closed"},
	} {
		t.Run("refuses a file with "+tt.name+" before anything is stored", func(t *testing.T) {
			w, fake := newImportWorld(t)
			for _, step := range []string{"preview", "refused", "import"} {
				a := w.upload(step, tt.file)
				if a.StatusCode != http.StatusUnprocessableEntity || step != "import" && !strings.Contains(text(a.body), tt.want) || len(fake.asked) > 0 {
					t.Errorf("%s: %s", step, describe(a))
				}
			}
		})
	}
	t.Run("shows the first refused rows of many", func(t *testing.T) {
		w, _ := newImportWorld(t)
		file := header
		for i := range 3000 {
			file += fmt.Sprintf("C-%d,A,B,nobody\n", i)
		}
		a := w.upload("preview", file)
		a.must(t, "3,000 rows would be refused", "The first 50 refused rows")
		if n := strings.Count(a.body, "must be an e-mail address"); n != refusedShown {
			t.Errorf("%d rows", n)
		}
	})
	t.Run("refuses a text that no field can have alone", func(t *testing.T) {
		w, _ := newImportWorld(t)
		w.upload("preview", header+"C-1,"+strings.Repeat("x", 10_001)+",B,a@example.com\nC-2,A,B,b@example.com\n").
			must(t, "1 customer would be imported", "1 row would be refused", "first_name")
	})
	t.Run("refuses a form without a file", func(t *testing.T) {
		w, _ := newImportWorld(t)
		if a := w.post("/imports/customers"); a.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(a.body, "Choose a file") {
			t.Errorf("%s", describe(a))
		}
	})
	t.Run("refuses a second import at the same time", func(t *testing.T) {
		w, fake := newImportWorld(t)
		release, _ := w.web.importing.take(w.company.GetId())
		if a := w.upload("preview", customersFile); a.StatusCode != http.StatusTooManyRequests || len(fake.asked) > 0 {
			t.Errorf("%s", describe(a))
		}
		release()
		if a := w.upload("preview", customersFile); a.StatusCode != http.StatusOK {
			t.Errorf("%s", describe(a))
		}
	})
	t.Run("needs the token of the session before it reads the file", func(t *testing.T) {
		w, fake := newImportWorld(t)
		var body bytes.Buffer
		form := multipart.NewWriter(&body)
		part, err := form.CreateFormFile("file", "x.csv") // the file is first
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(part, customersFile); err != nil {
			t.Fatal(err)
		}
		for _, err := range []error{form.WriteField(csrfField, tokenOf(sessionToken, liveMode)), form.Close()} {
			if err != nil {
				t.Fatal(err)
			}
		}
		req, err := http.NewRequest(http.MethodPost, w.server.URL+"/imports/customers", &body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", form.FormDataContentType())
		if a := w.do(req); a.StatusCode != http.StatusForbidden || len(fake.asked) > 0 {
			t.Errorf("%s", describe(a))
		}
	})
}

// TestExportCanBeImported imports the file of an export of customers.
func TestExportCanBeImported(t *testing.T) {
	t.Parallel()
	w, fake := newImportWorld(t)
	w.listCustomers(3)
	file := w.get("/exports/file?what=customers" + march).body
	w.upload("preview", file).must(t, "3 customers would be imported", "0 rows would be refused")
	if diff := cmp.Diff([]string{"cust_0", "cust_1", "cust_2"}, fake.asked); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	r, err := csvfile.NewReader(strings.NewReader(file), customerfile.Columns())
	if err != nil {
		t.Fatal(err)
	}
	row, err := r.Read()
	if err != nil {
		t.Fatal(err)
	}
	c, err := customerfile.Read(row.Get)
	if err != nil || c.GetMobile() != "+44 1" || c.GetCreatedAt().AsTime().Format("2006-01-02T15:04:05Z") != "2026-03-29T08:30:00Z" {
		t.Errorf("got %v, %v", c, err)
	}
}
