package admin

import (
	"net/http"
	"strings"
	"unicode/utf8"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/fault"
)

// sentences says to a person what a reason means and what to do about it. A
// reason that is not here is said in the words of its service.
var sentences = map[string]string{
	"EVENT_FULL":                  "There are not that many places left on this date. Choose fewer places or another date, or put the customer on the waitlist.",
	"EVENT_CANCELLED":             "This event or date has been cancelled. Choose another date.",
	"EVENT_PAST":                  "This date has already begun. Choose a later one.",
	"EVENT_NOT_PUBLISHED":         "This event is still a draft. Publish it first.",
	"EVENT_HAS_REGISTRATIONS":     "This event still has bookings. Cancel the event first; then it can be deleted.",
	"EVENT_NOT_FULL":              "There are places left: book them instead of waiting for one.",
	"ALREADY_WAITING":             "This customer is already on the waitlist of this date.",
	"ALREADY_CANCELLED":           "This booking is already cancelled.",
	"ALREADY_REFUNDED":            "This booking is already refunded.",
	"NOT_OFFERED":                 "No places are offered to this customer at the moment.",
	"HOLD_EXPIRED":                "The time for this offer is over, and its places went to others.",
	"HOLD_CONFIRMED":              "This offer has already become a booking.",
	"DISCOUNT_INVALID":            "This discount code does not count for this booking. Check how it is written and until when it is valid, or book without it.",
	"EMAIL_ALREADY_EXISTS":        "Another customer has this e-mail address, and your company wants each to be unique.",
	"PASS_EXHAUSTED":              "This pass has fewer credits left than this takes. Choose another pass, or pay by card.",
	"PASS_EXPIRED":                "This pass expires before the date. Choose another pass, move its last day, or pay by card.",
	"PASS_NOT_ACTIVE":             "This pass is paused or cancelled, starts after the date, or is no longer sold. Resume it, or choose another.",
	"PASS_NOT_APPLICABLE":         "No pass of this customer can pay for this. Choose another way to pay.",
	"VERSION_MISMATCH":            "Somebody else has changed this meanwhile. Look at it again and repeat your change.",
	"IDEMPOTENCY_KEY_REUSED":      "This form was already sent with other entries. Open the page again to make another change.",
	"IDEMPOTENCY_IN_PROGRESS":     "This form is just being worked on. Wait a moment and look at the page again.",
	"ENDPOINT_DISABLED":           "This endpoint is disabled. Enable it first.",
	"LAST_OWNER":                  "This is the last owner of your company. Make somebody else an owner first.",
	"OWN_ACCOUNT":                 "This is your own account: what concerns it is under Account.",
	"ADMINISTRATOR_DISABLED":      "This administrator is disabled. Enable them first.",
	"TOO_MANY_DELIVERIES":         "More than 100,000 deliveries fit these filters. Narrow them, by time or by endpoint.",
	"TOO_MANY_ENDPOINTS":          "There are as many endpoints as a company may have. Delete one that is no longer used.",
	fault.ReasonRateLimitExceeded: "That was tried too often. Wait a little and try again.",
}

// sentence says what a fault means to a person.
func sentence(f *fault.Error) string {
	if text := passSentence(f); text != "" {
		return text
	}
	if text, ok := sentences[f.Reason]; ok {
		return text
	}
	if f.Kind == fault.Internal {
		return "Something went wrong on our side."
	}
	if len(f.Fields) > 0 {
		return fieldSentence(f.Fields[0])
	}
	return capital(f.Message)
}

// passSentence says which of its conditions a pass fails; "": f does not tell.
func passSentence(f *fault.Error) string {
	if f.Reason != "PASS_NOT_ACTIVE" {
		return ""
	}
	if day, later := f.Meta["start_date"]; later {
		return "This pass is valid from " + wallDate(day) + " on. Choose another one, or pay by card."
	}
	switch strings.ToLower(f.Meta["status"]) {
	case "cancelled":
		return "This pass is cancelled, and that is for good: it cannot pay, be resumed or be changed. Assign another one instead."
	case "paused":
		return "This pass is paused. Resume it, choose another one, or pay by card."
	case "archived":
		return "This pass type is no longer sold. Choose another one, or sell it again first."
	}
	return ""
}

// fieldSentence says what is wrong with a field where no form shows it: by its
// name as people say it.
func fieldSentence(field fault.Field) string {
	name := field.Field[strings.LastIndex(field.Field, ".")+1:]
	name, _, _ = strings.Cut(name, "[")
	if name == "page_token" {
		return "This page of the list is not there any more. Go back to the beginning of the list."
	}
	return capital("the " + strings.ReplaceAll(name, "_", " ") + " " + field.Message)
}

// capital makes a sentence of a service's message.
func capital(message string) string {
	if message == "" {
		return ""
	}
	text := upperFirst(message)
	if last := text[len(text)-1]; last != '.' && last != '!' && last != '?' {
		text += "."
	}
	return text
}

// upperFirst returns a text with a capital at its beginning.
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

// trouble is the page of something that went wrong.
type trouble struct {
	Heading, Text, RequestID string
}

func (t trouble) head() (string, string) { return t.Heading, "" }

func troubleOf(f *fault.Error, requestID string) trouble {
	switch f.Kind {
	case fault.NotFound:
		switch f.Message {
		case customerDeleted:
			return trouble{Heading: "This customer is deleted", Text: f.Message}
		case noInvitation:
			return trouble{Heading: "No such invitation", Text: f.Message}
		case noReset:
			return trouble{Heading: "No such link", Text: f.Message}
		}
		return trouble{Heading: "Page not found", Text: "There is nothing at this address. It may have been deleted, or the link is incomplete."}
	case fault.Forbidden:
		text := sentence(f)
		if f.Reason == fault.ReasonInsufficientScope {
			text = errOwnersOnly.Message
		}
		return trouble{Heading: "This is not open to you", Text: text}
	case fault.Unavailable:
		if f.Meta["deletion"] == "unconfirmed" {
			return trouble{Heading: "Not deleted everywhere yet", Text: "The customer is deleted, but a part of the platform that books for customers has not confirmed it yet. Reload this page to try again.", RequestID: requestID}
		}
		return trouble{Heading: "Back in a moment", Text: "A part of the platform does not answer just now. Nothing was lost; try again in a few seconds.", RequestID: requestID}
	case fault.Internal:
		return trouble{Heading: "Something went wrong", Text: "This is a fault on our side. Try again; if it stays, report it with the number below.", RequestID: requestID}
	}
	return trouble{Heading: "That did not work", Text: sentence(f)}
}
