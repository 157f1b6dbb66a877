package admin

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"reservation.dev/platform/csvfile"
	"reservation.dev/platform/fault"
)

// The bounds of a file that is imported.
const (
	importBytesMost = 10 << 20
	importRowsMost  = 50_000
	// maxUpload is the longest body of a form with a file.
	maxUpload = importBytesMost + maxForm
	// refusedShown is how many refused rows a page shows.
	refusedShown = 50
)

// The steps of an import: any other one says what the import would do.
const (
	importNow     = "import"
	importRefused = "refused" // downloads the rows that the import refuses
)

// importView is the part of the page that imports things of one kind.
type importView struct {
	Kind   string
	Tabs   []importTab
	Form   *form
	Result *importResult // nil until a file was checked
}

// importTab is a link to the form of a kind.
type importTab struct {
	Kind    string
	Label   *message
	Current bool
}

// newImportView returns the empty form of a kind.
func newImportView(kind string) importView {
	v := importView{Kind: kind, Form: newForm()}
	for _, k := range importKinds() {
		v.Tabs = append(v.Tabs, importTab{k.name, msg("data.import.kind." + k.name), k.name == kind})
	}
	return v
}

// Columns says which columns the file can have.
func (v importView) Columns() *message { return msg("data.import.columns." + v.Kind) }

// readUpload reads the fields of a form with a file. The file is the last part, which the page reads.
func (r *request) readUpload() error {
	parts, err := r.http.MultipartReader()
	if errors.Is(err, http.ErrNotMultipart) {
		return r.http.ParseForm()
	}
	if err != nil {
		return err
	}
	fields := url.Values{}
	for size := 0; ; {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if part.FormName() == "file" {
			r.file = part
			break
		}
		value, err := io.ReadAll(io.LimitReader(part, maxForm))
		if err != nil {
			return err
		}
		if size += len(part.FormName()) + len(value); size >= maxForm {
			return errors.New("the fields are too long")
		}
		fields.Add(part.FormName(), string(value))
	}
	r.http.PostForm, r.http.Form = fields, fields
	return nil
}

// importFile returns what serves the form of a kind. It checks or imports a file. The file is not stored between the
// steps: the browser sends it again, and the digest of the checked file tells whether it is the same one.
func importFile(kind string) func(*request) error {
	return func(r *request) error { return r.importFileOf(importKindNamed(kind)) }
}

func (r *request) importFileOf(kind importKind) error {
	page := r.dataPage()
	page.Import = newImportView(kind.name)
	f := r.sent(nil)
	page.Import.Form = f
	release, free := r.web.importing.take(r.session.Company.GetId())
	if !free {
		f.Summary = msg("data.import.busy")
		r.w.Header().Set("Retry-After", "30")
		return r.renderStatus(http.StatusTooManyRequests, "exports", page)
	}
	defer release()
	data, digest, err := r.importedFile(f)
	if err != nil {
		return err
	}
	step := r.query("step")
	if !f.Failed() && step == importNow && f.text("digest") != digest {
		f.add("file", msg("data.import.other_file"))
	}
	if f.Failed() {
		return r.notAccepted("exports", page)
	}
	run := &importRun{request: r, kind: kind, dryRun: step != importNow}
	if err := run.open(data, f); err != nil {
		return err
	}
	if f.Failed() {
		return r.notAccepted("exports", page)
	}
	if step == importRefused {
		return run.download(fileName(r.session.Company.GetName(), kind.name+"-refused", exportSpan{}))
	}
	result, err := run.result()
	if result.Done = step == importNow; result.Done && result.Created+result.Existed > 0 {
		r.changed()
		r.target(kind.name)
		r.detail("file", "", r.file.FileName())
		r.detail("rows", "", strconv.Itoa(result.Read))
		r.detail("created", "", strconv.Itoa(result.Created))
		r.detail("existed", "", strconv.Itoa(result.Existed))
		r.detail("refused", "", strconv.Itoa(result.Refused))
	}
	if err != nil {
		return err
	}
	result.File, result.Digest = r.file.FileName(), digest
	page.Import.Result = result
	return r.render("exports", page)
}

// importedFile reads the file of the form within its bounds.
func (r *request) importedFile(f *form) (data []byte, digest string, err error) {
	if r.file == nil || r.file.FileName() == "" {
		f.add("file", msg("data.import.choose"))
		return nil, "", nil
	}
	data, err = io.ReadAll(io.LimitReader(r.file, importBytesMost+1))
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long) || len(data) > importBytesMost:
		f.add("file", msg("data.import.too_large", "count", importBytesMost>>20))
		return nil, "", nil
	case err != nil:
		return nil, "", pageFault(fault.Invalid, fault.ReasonInvalidParameter, "unreadable", "the file is damaged").Because(err)
	}
	sum := sha256.Sum256(data)
	return data, hex.EncodeToString(sum[:]), nil
}

// importResult says what an import did, or would do.
type importResult struct {
	Kind, File, Digest string
	// Done says that the rows were imported.
	Done bool
	// Ignored are the titles of unknown columns.
	Ignored                         []string
	Read, Created, Existed, Refused int
	// First are the first refused rows. The numbers are those of rows.
	First []refusedRow
}

// refusedRow is a row that the import refuses, and why.
type refusedRow struct {
	csvfile.Row
	Field, Reason string
}

// Problem returns the reason in the language of the page, without the name of the column. The file of refused rows has
// the reason in English.
func (r refusedRow) Problem() *message {
	return problemText(strings.TrimPrefix(r.Reason, r.Field+" "))
}

// Fits reports whether First has all refused rows.
func (r importResult) Fits() bool { return r.Refused <= len(r.First) }

// CreatedText says how many things were imported, or would be.
func (r importResult) CreatedText() *message {
	if r.Done {
		return msg("data.import.created."+r.Kind, "count", r.Created)
	}
	return msg("data.import.would_create."+r.Kind, "count", r.Created)
}

// ExistedText says how many things were imported before.
func (r importResult) ExistedText() *message {
	return msg("data.import.existed."+r.Kind, "count", r.Existed)
}

// ButtonText is the text of the button that imports.
func (r importResult) ButtonText() *message {
	return msg("data.import.button."+r.Kind, "count", r.Created)
}
