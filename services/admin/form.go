package admin

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"reservation.dev/platform/fault"
)

// form is what a person has typed, and what is wrong with it.
type form struct {
	values url.Values
	errors map[string]*message
	order  []string // of the fields with errors
	// names are the form's names of a service's fields, where they differ.
	names map[string]string
	// current is the version that is there now, of what the form changes.
	current int64
	// Summary says what is wrong with the form as a whole; nil if nothing is.
	Summary *message
}

// newForm returns a form with first values: field, value, field, value, …
func newForm(pairs ...string) *form {
	f := &form{values: url.Values{}, errors: map[string]*message{}}
	for i := 0; i+1 < len(pairs); i += 2 {
		f.values.Add(pairs[i], pairs[i+1])
	}
	return f
}

// filterForm returns the form of a filter, with what the address says of its fields.
func (r *request) filterForm(names ...string) *form {
	f := newForm()
	for _, name := range names {
		f.values.Set(name, r.query(name))
	}
	return f
}

// sent returns the form that was sent; names are its names of the service's fields,
// where they differ.
func (r *request) sent(names map[string]string) *form {
	return &form{values: r.http.PostForm, errors: map[string]*message{}, names: names}
}

// keep notes what fields are while the form is made, for stands.
func (f *form) keep(names ...string) {
	for _, name := range names {
		f.values.Set("was-"+name, f.values.Get(name))
	}
}

// stands tells whether a field is as it was when the page was made. Such a one is
// not sent on: somebody else may have changed it since, or more precisely.
func (f *form) stands(name string) bool {
	was, known := f.values["was-"+name]
	return known && f.text(name) == was[0]
}

// seen returns the version that the form was made from, for services that refuse
// to overwrite another one; nil: the form does not say. current is the version that is
// there now.
func (f *form) seen(current int64) *int64 {
	f.current = current
	version, err := strconv.ParseInt(f.text("version"), 10, 64)
	if err != nil {
		return nil
	}
	return &version
}

// see takes over the version that is there now, after a refusal: what is on the form
// is this person's, and sent again, it is meant.
func (f *form) see(version int64) { f.values.Set("version", strconv.FormatInt(version, 10)) }

// Get returns a field's value as it was typed.
func (f *form) Get(name string) string { return f.values.Get(name) }

// All returns the values of a field with several.
func (f *form) All(name string) []string { return f.values[name] }

// Has tells whether a field has a value, of a set of boxes, say.
func (f *form) Has(name, value string) bool { return slices.Contains(f.values[name], value) }

// Error returns what is wrong with a field; nil if nothing is.
func (f *form) Error(name string) *message { return f.errors[name] }

// Failed tells whether anything is wrong.
func (f *form) Failed() bool { return f.Summary != nil || len(f.errors) > 0 }

// Faults lists what is wrong, for the summary above the form.
func (f *form) Faults() []formFault {
	var all []formFault
	for _, name := range f.order {
		all = append(all, formFault{name, f.errors[name]})
	}
	return all
}

// formFault is one line of that list.
type formFault struct {
	Field string
	Text  *message
}

// add notes what is wrong with a field; the first one counts.
func (f *form) add(name string, text *message) {
	if _, known := f.errors[name]; !known {
		f.errors[name] = text
		f.order = append(f.order, name)
	}
}

// text returns a field without space around it.
func (f *form) text(name string) string {
	return strings.TrimSpace(strings.ReplaceAll(f.values.Get(name), "\r\n", "\n"))
}

// required returns a field that must not be empty.
func (f *form) required(name string, label *message) string {
	value := f.text(name)
	if value == "" {
		f.add(name, msg("refusals.form.required", "label", label))
	}
	return value
}

// integer returns a whole number within bounds, and whether there is one.
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

// count returns a whole number that must be given; 0 where it is not.
func (f *form) count(name string, label *message, least, most int64) int32 {
	n, given := f.integer(name, label, least, most)
	if !given {
		f.add(name, msg("refusals.form.required", "label", label))
	}
	return int32(n)
}

// hundredths returns a number of at most most, typed with up to two decimals, as
// hundredths: a tax of "17.5" % is 1750 basis points.
func (f *form) hundredths(name string, label *message, most int64) (int64, bool) {
	wrong := len(f.errors)
	n, given := f.money(name, label)
	if len(f.errors) > wrong || given && n > 100*most {
		f.add(name, nil) // lists the field; the text below replaces that of money
		f.errors[name] = msg("refusals.form.share", "label", label, "most", most)
		return 0, false
	}
	return n, given
}

// hundredthsText prints hundredths as such a field has them.
func hundredthsText(n int64) string {
	return strings.TrimSuffix(strings.TrimRight(amount(n), "0"), ".")
}

// money returns an amount in minor units, typed with or without decimals.
func (f *form) money(name string, label *message) (int64, bool) {
	text := strings.ReplaceAll(f.text(name), ",", ".")
	if text == "" {
		return 0, false
	}
	whole, fraction, _ := strings.Cut(text, ".")
	for len(fraction) < 2 {
		fraction += "0"
	}
	n, err := strconv.ParseUint(whole+fraction, 10, 40)
	if err != nil || len(fraction) > 2 || whole == "" {
		f.add(name, msg("refusals.form.amount", "label", label))
		return 0, false
	}
	return int64(n), true
}

// isRefusal tells a refusal, about which the person can do something, from other
// errors.
func isRefusal(f *fault.Error) bool {
	switch f.Kind {
	case fault.Invalid, fault.Refused, fault.VersionMismatch, fault.Conflict, fault.RateLimited:
		return true
	}
	return false
}

// refuse shows a service's refusal on the form and reports whether err is a refusal.
// Any other error is an error of the page.
func (f *form) refuse(err error) bool {
	e := fault.From(err)
	if !isRefusal(e) {
		return false
	}
	for _, field := range e.Fields {
		f.add(f.nameOf(field.Field), msg("refusals.form.field", "problem", stopped(field.Message)))
	}
	if len(e.Fields) == 0 || e.Kind != fault.Invalid {
		f.Summary = sentence(e)
	}
	if e.Kind == fault.VersionMismatch {
		f.see(f.current) // sent again, what is on the form is meant
	}
	return true
}

// nameOf returns the form's name of a service's field, or of the list that it is in.
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

// optionsOf returns the choices with the values; text says what each is called.
func optionsOf(values []string, text func(value string) string) []option {
	options := make([]option, len(values))
	for i, value := range values {
		options[i] = option{value, text(value)}
	}
	return options
}
