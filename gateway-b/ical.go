package gatewayb

import (
	"context"
	"io"
	"strings"
	"time"
	"unicode"

	ics "github.com/arran4/golang-ical"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// The address of a calendar is calendarPrefix, its secret and calendarSuffix, at the root of the gateway.
// Programs that subscribe to calendars send no tokens, so the address itself permits the read.
const (
	calendarPrefix = "/calendar/"
	calendarSuffix = ".ics"
	calendarType   = "text/calendar; charset=utf-8"
	// uidDomain makes the identifiers of entries globally unique. It is not the host of the gateway, so that
	// they stay the same when the platform moves.
	uidDomain = "@reservation.dev"
	// refreshInterval is how often a program is asked to read a calendar. Most of them choose for themselves.
	refreshInterval = "PT1H"
)

// calendarURL returns the address of the calendar with a secret.
func (f *facade) calendarURL(secret string) string {
	return strings.TrimSuffix(strings.TrimRight(f.interfaceURL, "/"), base) + calendarPrefix + secret + calendarSuffix
}

// calendarFeed reads calendars by their secrets, and writes them as iCalendar (RFC 5545).
type calendarFeed struct {
	client bookingv1.CalendarServiceClient
}

// read returns the calendar with a secret.
func (c calendarFeed) read(ctx context.Context, secret string) ([]byte, error) {
	res, err := c.client.ReadCalendar(ctx, &bookingv1.ReadCalendarRequest{Secret: secret})
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	err = writeCalendar(&b, res)
	return []byte(b.String()), err
}

// writeCalendar writes a calendar. It is the same for the same entries, so that programs can compare it.
//
// Times are in UTC. The start of a date is one instant, which does not repeat, so no time zone rules are needed,
// and every program shows it in the zone of its user. X-WR-TIMEZONE names the zone of the company.
func writeCalendar(w io.Writer, in *bookingv1.ReadCalendarResponse) error {
	out := &ics.Calendar{}
	out.SetVersion("2.0")
	out.SetProductId("-//reservation.dev//Calendar//EN")
	out.SetCalscale("GREGORIAN")
	out.SetMethod(ics.MethodPublish)
	out.SetXWRCalName(plainText(in.GetName()))
	out.SetXWRTimezone(in.GetTimezone())
	out.SetRefreshInterval(refreshInterval)
	out.SetXPublishedTTL(refreshInterval)
	for _, e := range in.GetEntries() {
		out.AddVEvent(calendarEvent(e))
	}
	return out.SerializeTo(w, ics.WithNewLine("\r\n"))
}

// calendarEvent converts an entry of a calendar.
func calendarEvent(e *bookingv1.CalendarEntry) *ics.VEvent {
	out := ics.NewEvent(e.GetUid() + uidDomain)
	updated := e.GetUpdatedAt().AsTime().Truncate(time.Second)
	out.SetDtStampTime(updated) // not the time of the read, so that the calendar is the same until an entry changes
	out.SetModifiedAt(updated)
	out.SetCreatedTime(e.GetCreatedAt().AsTime())
	out.SetSequence(int(e.GetSequence()))
	out.SetStatus(ics.ObjectStatusConfirmed)
	if e.GetCancelled() {
		out.SetStatus(ics.ObjectStatusCancelled)
	}
	out.SetStartAt(e.GetStartsAt().AsTime())
	out.SetEndAt(e.GetEndsAt().AsTime())
	out.SetSummary(plainText(e.GetTitle()))
	if text := plainText(e.GetLocation()); text != "" {
		out.SetLocation(text)
	}
	if text := plainText(e.GetDescription()); text != "" {
		out.SetDescription(text)
	}
	return out
}

// plainText returns a text without control characters other than line breaks and tabs, which a calendar must
// not contain.
func plainText(s string) string {
	s = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s)
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, s)
}
