package admin

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"reservation.dev/platform/fault"
)

// form holds the values of a form and the errors in them.
type form struct {
	values url.Values
	errors map[string]*message
	order  []string // of the fields with errors
	// names maps a service's field names to the form's, where they differ.
	names map[string]string
	// locale is how amounts are typed; nil if the form is not read.
	locale *locale
	// current is the present version of the resource that the form changes.
	current int64
	// Summary says what is wrong with the form as a whole; nil if nothing is.
	Summary *message
	// refused is the reason with which a service refused the form; "" if none did.
	refused string
}

// newForm returns a form with initial values: field, value, field, value, …
func newForm(pairs ...string) *form {
	f := &form{values: url.Values{}, errors: map[string]*message{}}
	for i := 0; i+1 < len(pairs); i += 2 {
		f.values.Add(pairs[i], pairs[i+1])
	}
	return f
}

// filterForm returns the form of a filter, with the values of the query parameters.
func (r *request) filterForm(names ...string) *form {
	f := newForm()
	f.locale = r.locale
	for _, name := range names {
		f.values.Set(name, r.query(name))
	}
	return f
}

// sent returns the submitted form; names maps a service's field names to the form's, where they
// differ.
func (r *request) sent(names map[string]string) *form {
	return &form{values: r.http.PostForm, errors: map[string]*message{}, names: names, locale: r.locale}
}

// remember stores the initial values of fields, for unchanged.
func (f *form) remember(names ...string) {
	for _, name := range names {
		f.values.Set("was-"+name, f.values.Get(name))
	}
}

// unchanged reports whether a field has the value from when the page was made. An unchanged field
// is not sent to the service, because another person or an integration may have changed it.
func (f *form) unchanged(name string) bool {
	was, known := f.values["was-"+name]
	return known && f.text(name) == was[0]
}

// expectedVersion returns the version from which the form was made, so that the service refuses to
// overwrite another one; nil if the form has none. current is the present version.
func (f *form) expectedVersion(current int64) *int64 {
	f.current = current
	version, err := strconv.ParseInt(f.text("version"), 10, 64)
	if err != nil {
		return nil
	}
	return &version
}

// setVersion sets the version of the form. After a refusal, it is the present one: if the person sends
// the form again, it overwrites that version.
func (f *form) setVersion(version int64) { f.values.Set("version", strconv.FormatInt(version, 10)) }

// Get returns a field's value, as typed.
func (f *form) Get(name string) string { return f.values.Get(name) }

// All returns all values of a field.
func (f *form) All(name string) []string { return f.values[name] }

// Has reports whether a value is among those of a field, such as a set of check boxes.
func (f *form) Has(name, value string) bool { return slices.Contains(f.values[name], value) }

// Error returns the error of a field; nil if there is none.
func (f *form) Error(name string) *message { return f.errors[name] }

// Failed reports whether the form has errors.
func (f *form) Failed() bool { return f.Summary != nil || len(f.errors) > 0 }

// Faults lists the errors of the fields, for the summary above the form.
func (f *form) Faults() []formFault {
	var all []formFault
	for _, name := range f.order {
		all = append(all, formFault{name, f.errors[name]})
	}
	return all
}

// formFault is the error of a field.
type formFault struct {
	Field string
	Text  *message
}

// add sets the error of a field, unless it has one.
func (f *form) add(name string, text *message) {
	if _, known := f.errors[name]; !known {
		f.errors[name] = text
		f.order = append(f.order, name)
	}
}

// text returns a field's value without surrounding space, and with "\n" at line ends.
func (f *form) text(name string) string {
	return strings.TrimSpace(strings.ReplaceAll(f.values.Get(name), "\r\n", "\n"))
}

// required returns the value of a field; an empty one is an error. label names the field, such
// as "a title".
func (f *form) required(name string, label *message) string {
	value := f.text(name)
	if value == "" {
		f.add(name, msg("refusals.form.required", "label", label))
	}
	return value
}

// integer returns a whole number from least to most, and whether the field has one. An empty
// field is not an error.
func (f *form) integer(name string, label *message, least, most int64) (int64, bool) {
	text := f.text(name)
	if text == "" {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least || n > most {
		f.add(name, msg("refusals.form.integer", "label", label, "least", least, "most", most))
		return 0, false
	}
	return n, true
}

// afterStart returns the reason for a booking or a change after the start; "" before the start.
func (f *form) afterStart(started bool) string {
	if !started {
		return ""
	}
	return f.required("reason", msg("desk.field.reason"))
}

// count returns a whole number from least to most; an empty field is an error.
func (f *form) count(name string, label *message, least, most int64) int32 {
	n, given := f.integer(name, label, least, most)
	if !given {
		f.add(name, msg("refusals.form.required", "label", label))
	}
	return int32(n)
}

// hundredths returns a number up to most, typed with at most two decimals, in hundredths: a tax
// of "17.5" % is 1750 basis points.
func (f *form) hundredths(name string, label *message, most int64) (int64, bool) {
	text := f.text(name)
	if text == "" {
		return 0, false
	}
	n, ok := f.typed().parseAmount(text)
	if !ok || n > 100*most {
		f.add(name, msg("refusals.form.share", "label", label, "most", most, "example", f.typed().hundredths(1750)))
		return 0, false
	}
	return n, true
}

// money returns an amount in minor units, typed with at most two decimals, and whether the field
// has one.
func (f *form) money(name string, label *message) (int64, bool) {
	text := f.text(name)
	if text == "" {
		return 0, false
	}
	n, ok := f.typed().parseAmount(text)
	if !ok {
		f.add(name, msg("refusals.form.amount", "label", label, "example", f.typed().amount(1250)))
		return 0, false
	}
	return n, true
}

// typed returns how amounts are typed in the form.
func (f *form) typed() *locale { return cmp.Or(f.locale, plainLocale) }

// isRefusal reports whether an error is a refusal that the person can act on.
func isRefusal(f *fault.Error) bool {
	switch f.Kind {
	case fault.Invalid, fault.Refused, fault.VersionMismatch, fault.Conflict, fault.RateLimited:
		return true
	}
	return false
}

// refuse adds a service's refusal to the form and reports whether err is a refusal.
func (f *form) refuse(err error) bool {
	e := fault.From(err)
	if !isRefusal(e) {
		return false
	}
	f.refused = e.Reason
	for _, field := range e.Fields {
		name := f.nameOf(field.Field)
		f.add(name, msg("refusals.form.field", "field", fieldName(name), "problem", problemText(field.Message)))
	}
	if len(e.Fields) == 0 || e.Kind != fault.Invalid {
		f.Summary = cmp.Or(busySentence(e), sentence(e))
	}
	if e.Kind == fault.VersionMismatch {
		f.setVersion(f.current)
	}
	return true
}

// nameOf returns the form's name of a service's field; that of the list for a field of its
// elements.
func (f *form) nameOf(field string) string {
	if name, ok := f.names[field]; ok {
		return name
	}
	list, _, _ := strings.Cut(field, "[")
	if name, ok := f.names[list]; ok {
		return name
	}
	return list
}

// option is a choice of a select.
type option struct{ Value, Text string }

// optionsOf returns the choices with the given values and their texts.
func optionsOf(values []string, text func(value string) string) []option {
	options := make([]option, len(values))
	for i, value := range values {
		options[i] = option{value, text(value)}
	}
	return options
}
