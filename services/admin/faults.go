package admin

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/zone"
)

// reason returns the sentence for a reason that the dashboard itself finds.
func reason(code string) *message { return msg("refusals.reason." + code) }

// sentence says what a fault means to a person, and what to do about it. A reason
// without a message of its own is shown in the words of its service.
func sentence(f *fault.Error) *message {
	if page := f.Meta[pageKey]; page != "" {
		return msg("refusals.page." + page + ".text").or(f.Message)
	}
	if m := cmp.Or(passSentence(f), windowSentence(f), slotSentence(f)); m != nil {
		return m
	}
	switch {
	case f.Kind == fault.Internal:
		return reason(f.Reason).orElse(msg("refusals.page.internal.short"))
	case len(f.Fields) > 0:
		return reason(f.Reason).orElse(fieldSentence(f.Fields[0]))
	}
	return reason(f.Reason).or(capital(f.Message))
}

// passSentence says why a pass cannot be used; nil if f does not say.
func passSentence(f *fault.Error) *message {
	if f.Reason != "PASS_NOT_ACTIVE" {
		return nil
	}
	if day, later := f.Meta["start_date"]; later {
		return msg("refusals.pass.starts_later", "date", wallDate(day))
	}
	switch strings.ToLower(f.Meta["status"]) {
	case "cancelled":
		return msg("refusals.pass.cancelled")
	case "paused":
		return msg("refusals.pass.paused")
	case "archived":
		return msg("refusals.pass.archived")
	}
	return nil
}

// windowSentence says from when or until when a date can be booked, in the zone of the date; nil if f
// does not say.
func windowSentence(f *fault.Error) *message {
	loc, err := zone.Load(f.Meta["timezone"])
	if err != nil {
		return nil
	}
	say := func(id, fact string) *message {
		at, err := time.Parse(time.RFC3339, f.Meta[fact])
		if err != nil {
			return nil
		}
		return msg(id, "time", timeText("day_time", at.In(loc)), "zone", clock{Zone: loc}.Name())
	}
	switch f.Reason {
	case "BOOKING_NOT_OPEN":
		return say("refusals.window.opens", "opens_at")
	case "BOOKING_CLOSED":
		return say("refusals.window.closed", "closes_at")
	}
	return nil
}

// slotSentence says why a slot cannot be booked; nil if f does not say.
func slotSentence(f *fault.Error) *message {
	if f.Reason != "SLOT_UNAVAILABLE" {
		return nil
	}
	return msg("refusals.slot." + f.Meta["why"]).orElse(reason(f.Reason))
}

// busySentence says that a person or a room is taken, with a link to the date that takes it; nil if f does
// not name a date.
func busySentence(f *fault.Error) *message {
	date := f.Meta["event_date_id"]
	if date == "" || (f.Reason != "STAFF_BUSY" && f.Reason != "ROOM_BUSY") {
		return nil
	}
	return msg("refusals.busy."+f.Reason, "url", "/dates/"+url.PathEscape(date))
}

// fieldName returns what a form calls a field: "the title"; "this" for an unknown field.
func fieldName(name string) *message {
	return msg("refusals.name." + name).orElse(msg("refusals.name.other_field"))
}

// fieldSentence says what is wrong with a field that no form shows, and names the field.
func fieldSentence(field fault.Field) *message {
	name := field.Field[strings.LastIndex(field.Field, ".")+1:]
	name, _, _ = strings.Cut(name, "[")
	switch {
	case name == "page_token":
		return msg("refusals.field.page_token")
	case field.Field == "span.to" && field.Rule == "order":
		return msg("refusals.field.span_order")
	case field.Field == "span.to" && field.Rule == "range":
		return msg("refusals.field.span_range")
	}
	return msg("refusals.field.other_field", "field", strings.ReplaceAll(name, "_", " "), "problem", problemText(field.Message))
}

// capital makes a sentence of a service's message.
func capital(message string) string { return upperFirst(withFullStop(message)) }

// withFullStop returns a text with a full stop, unless it ends as a sentence or is empty.
func withFullStop(text string) string {
	if text == "" || strings.ContainsAny(text[len(text)-1:], ".!?") {
		return text
	}
	return text + "."
}

// upperFirst returns a text with a capital first letter.
func upperFirst(text string) string {
	_, size := utf8.DecodeRuneInString(text)
	return strings.ToUpper(text[:size]) + text[size:]
}

// statusOf returns the HTTP status of a page that could not be shown.
func statusOf(f *fault.Error) int {
	if f.Kind == fault.VersionMismatch {
		return http.StatusConflict // a form has no If-Match
	}
	return edge.StatusOf(f)
}

// trouble is the page of an error.
type trouble struct {
	Heading, Text *message
	// RequestID is shown if the error is to be reported.
	RequestID string
}

func (t trouble) head() (*message, string) { return t.Heading, "" }

// pageKey is the key of a fault's Meta that names the messages of its error page:
// refusals.page.<name>.
const pageKey = "page"

// pageFault returns a fault of the dashboard with an error page of its own; why is for
// the log.
func pageFault(kind fault.Kind, reason, page, why string) *fault.Error {
	return fault.New(kind, reason, why).With(pageKey, page)
}

func troubleOf(f *fault.Error, requestID string) trouble {
	switch f.Kind {
	case fault.NotFound:
		if page := f.Meta[pageKey]; page != "" {
			return trouble{Heading: msg("refusals.page." + page + ".title").orElse(msg("refusals.page.missing.title")), Text: sentence(f)}
		}
		return trouble{Heading: msg("refusals.page.missing.title"), Text: msg("refusals.page.missing.text")}
	case fault.Forbidden:
		text := sentence(f)
		if f.Reason == fault.ReasonInsufficientScope {
			text = sentence(errOtherRole)
		}
		return trouble{Heading: msg("refusals.page.forbidden.title"), Text: text}
	case fault.Unavailable:
		if f.Meta["deletion"] == "unconfirmed" {
			return trouble{msg("refusals.page.deletion_unconfirmed.title"), msg("refusals.page.deletion_unconfirmed.text"), requestID}
		}
		return trouble{msg("refusals.page.unavailable.title"), msg("refusals.page.unavailable.text"), requestID}
	case fault.Internal:
		return trouble{msg("refusals.page.internal.title"), msg("refusals.page.internal.text"), requestID}
	}
	return trouble{Heading: msg("refusals.page.refused.title"), Text: sentence(f)}
}
