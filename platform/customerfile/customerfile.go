// Package customerfile defines the files of customers that people import: their columns, and how a row becomes a
// customer. The command line and the dashboard read the same files.
package customerfile

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/csvfile"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// Reference returns the names of the column with the customer's key in the system that it comes from.
func Reference() []string { return []string{"reference", "id", "customerid"} }

// Columns returns the columns that a file of customers can have.
func Columns() csvfile.Columns {
	return csvfile.Columns{
		Required: [][]string{Reference(), {"firstname"}, {"lastname"}, {"email"}},
		Optional: []string{"mobile", "phone", "archived", "createdat"},
	}
}

// Read returns the customer of a row. value returns the first of the named columns that has a value, or "". Read
// checks types and formats; the customer service checks the rest. It returns a *csvfile.Refusal, and with it what
// could be read.
func Read(value func(names ...string) string) (*customerv1.ImportedCustomer, error) {
	c := &customerv1.ImportedCustomer{
		Reference: value(Reference()...), FirstName: value("firstname"), LastName: value("lastname"),
		Email: value("email"), Mobile: value("mobile", "phone"),
	}
	if archived := value("archived"); archived != "" {
		is, err := strconv.ParseBool(strings.ToLower(archived))
		if err != nil {
			return c, &csvfile.Refusal{Field: "archived", Rule: "type", Message: "must be true or false"}
		}
		c.Archived = is
	}
	if created := value("createdat"); created != "" {
		at, err := Moment(created, time.UTC)
		if err != nil {
			return c, &csvfile.Refusal{Field: "created_at", Rule: "format", Message: err.Error()}
		}
		c.CreatedAt = timestamppb.New(at)
	}
	return c, nil
}

// Moment parses a date, a date-time in the given zone, or a date-time with an offset.
func Moment(s string, zone *time.Location) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, nil
	}
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, s, zone); err == nil {
			return t, nil
		}
	}
	return time.Time{}, errors.New("must be a date or a date-time, for example 2026-03-29T09:30:00")
}
