package model

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

// MaxBookings is the maximum number of bookings of a transaction.
const MaxBookings = 200

// WholeCourse is a course that is sold as a whole.
type WholeCourse struct {
	Dates   []id.EventDate     // to come, at most one more than MaxBookings
	Options []id.PricingOption // on sale for the whole course
	Singles bool               // it also has options on sale for single dates
}

// CourseDate is a date of a course that is booked as a whole, and takes place.
type CourseDate struct {
	ID       id.EventDate
	StartsAt time.Time
}

// ErrCourseChanged reports that a course has a date to come that its line does not name, and that is
// therefore not locked. The order must be read again.
var ErrCourseChanged = errors.New("a date was added to the course")

// sells reports whether an option is for the whole course. No option means the only one.
func (c *WholeCourse) sells(option id.PricingOption) bool {
	if option.IsZero() {
		return len(c.Options) == 1 && !c.Singles
	}
	return slices.Contains(c.Options, option)
}

// checkBookings refuses an order with more bookings than a transaction can have.
func (o *Order) checkBookings() error {
	n := 0
	for _, l := range o.Lines {
		n += max(1, len(l.Course))
	}
	if n <= MaxBookings {
		return nil
	}
	return fault.InvalidFields(fault.Field{
		Field: "lines", Rule: "max_items", Message: fmt.Sprintf("must book at most %d dates, including those of whole courses", MaxBookings),
	})
}

// lineDates returns the dates that line i books, and its pricing option.
func (of *Offer) lineDates(i int, o *Order, now time.Time) ([]*OfferedDate, PricingOption, error) {
	l := o.Lines[i]
	if len(l.Course) > 0 {
		return of.courseDates(i, l, now)
	}
	date, ok := of.Dates[l.Date]
	if !ok || !l.Event.IsZero() && l.Event != date.Event {
		return nil, PricingOption{}, MissingInLine(i, "event_date_id", "event date")
	}
	if refusal := date.refusesFor(o.AfterStart, now); refusal != nil {
		return nil, PricingOption{}, refusal.With("event_date_id", l.Date.String())
	}
	option, err := of.option(i, l, date)
	if err == nil && option.WholeCourse {
		err = fault.InvalidFields(fault.Field{
			Field: fmt.Sprintf("lines[%d].event_date_id", i), Rule: "exclusive",
			Message: "must be omitted, because the pricing option is for the whole course: give event_id instead",
		})
	}
	return []*OfferedDate{date}, option, err
}

// courseDates returns the dates of a course that line i books: those that are still to come, now that
// they are locked. The booking rules apply to the first of them.
func (of *Offer) courseDates(i int, l Line, now time.Time) (dates []*OfferedDate, option PricingOption, err error) {
	for _, d := range of.Courses[l.Event] {
		if d.StartsAt.After(now) && !slices.Contains(l.Course, d.ID) {
			return nil, option, ErrCourseChanged
		}
	}
	var refused *fault.Error
	for _, d := range l.Course {
		date, ok := of.Dates[d]
		if !ok {
			return nil, option, MissingInLine(i, "event_id", "event")
		}
		if refusal := date.unbookable(now); refusal != nil {
			refused = refusal.With("event_date_id", d.String())
			continue
		}
		dates = append(dates, date)
	}
	if len(dates) == 0 {
		return nil, option, refused
	}
	slices.SortFunc(dates, func(a, b *OfferedDate) int {
		return cmp.Or(a.StartsAt.Compare(b.StartsAt), bytes.Compare(a.ID[:], b.ID[:]))
	})
	if refusal := dates[0].refuses(now); refusal != nil {
		return nil, option, refusal.With("event_date_id", dates[0].ID.String())
	}
	option, err = of.option(i, l, dates[0])
	return dates, option, err
}

// spread returns the bookings of granted lines: one for each date. The price of a line is divided
// into equal parts.
func (of *Offer) spread(lines []Booking, dates [][]*OfferedDate) []Booking {
	bookings := make([]Booking, 0, len(lines))
	for i := range lines {
		b := &lines[i]
		n := len(dates[i])
		if n == 1 {
			bookings = append(bookings, *b)
			continue
		}
		for j, date := range dates[i] {
			part := *b
			part.Date = date.BookedDate
			p := &part.Payment
			p.Credits = int32(share(int64(b.Payment.Credits), n, j))
			p.Gross = share(b.Payment.Gross, n, j)
			p.Discount = share(b.Payment.Gross+b.Payment.Discount, n, j) - p.Gross
			p.Net = netOf(p.Gross, of.taxRate(b))
			bookings = append(bookings, part)
		}
	}
	return bookings
}

// share returns part i of an amount that is divided into n equal parts. The first parts take the
// remainder.
func share(amount int64, n, i int) int64 {
	part := amount / int64(n)
	if int64(i) < amount%int64(n) {
		part++
	}
	return part
}

// CreditPrice is the price in credits at which a held booking can be paid by pass.
type CreditPrice struct {
	Credits     *int32 // of one space; nil: it cannot be paid by pass
	WholeCourse bool
}

// courseParts returns, for each booking of a transaction that belongs to a whole course, the number
// of dates of the course and the position of the booking among them. All lines with one option book
// the same dates, one line after the other.
func courseParts(t *Transaction, prices map[id.Booking]CreditPrice) map[id.Booking][2]int {
	dates, seen := map[id.PricingOption]map[id.EventDate]bool{}, map[id.PricingOption]int{}
	for i := range t.Bookings {
		if b := &t.Bookings[i]; prices[b.ID].WholeCourse {
			if dates[b.Option] == nil {
				dates[b.Option] = map[id.EventDate]bool{}
			}
			dates[b.Option][b.Date.ID] = true
		}
	}
	parts := map[id.Booking][2]int{}
	for i := range t.Bookings {
		if b := &t.Bookings[i]; prices[b.ID].WholeCourse {
			n := len(dates[b.Option])
			parts[b.ID] = [2]int{n, seen[b.Option] % n}
			seen[b.Option]++
		}
	}
	return parts
}

// wholeCourseHasNoWaitlist refuses a waitlist entry at the price of a whole course.
func wholeCourseHasNoWaitlist() error {
	return fault.InvalidFields(fault.Field{
		Field: "pricing_option_id", Rule: "exclusive", Message: "is for the whole course, and a waitlist is for one date: use another option",
	})
}

// onlyOfCourse reports an option for the whole course of an event that is not a course.
func (f *fields) onlyOfCourse(at string, o *PricingOption, of EventType) {
	if o.WholeCourse && of != Course {
		f.Add(at+"whole_course", "exclusive", "is only for an event of type course")
	}
}

// wholeCourse checks the whole_course of an option that is added or changed.
func (f *fields) wholeCourse(at string, c *OptionChange, o *PricingOption, of EventType) {
	switch {
	case c.Adds:
		f.onlyOfCourse(at, o, of)
	case c.WholeCourse != nil && *c.WholeCourse != o.WholeCourse:
		f.Add(at+"whole_course", "immutable", "can only be set when the option is added. Add another option instead")
	}
}
