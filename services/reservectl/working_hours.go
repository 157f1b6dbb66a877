package reservectl

import (
	"fmt"
	"slices"
	"strings"
	"time"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// maxShifts is the maximum number of weekly shifts of a person.
const maxShifts = 100

// weeklyHours reads weekly shifts. Each part has days and their times, such as "mon-thu,sat 09:00-12:30,13:30-17:00".
// A time that ends at or before its start ends on the next day.
func weeklyHours(parts []string, location, timezone string) ([]*bookingv1.WeeklyHours, error) {
	var all []*bookingv1.WeeklyHours
	for _, part := range parts {
		words, times, _ := strings.Cut(strings.TrimSpace(wordSpaces().Replace(part)), " ")
		days, ok := weekdays(words)
		if !ok {
			return nil, hoursRefusal(part)
		}
		ranges, ok := wallTimes(times)
		if !ok {
			return nil, hoursRefusal(part)
		}
		for _, day := range days {
			for _, r := range ranges {
				all = append(all, &bookingv1.WeeklyHours{Weekday: day, Range: &bookingv1.HoursRange{
					Starts: r[0], Ends: r[1], Location: location, Timezone: timezone,
				}})
			}
		}
	}
	if len(all) > maxShifts {
		return nil, refusal{"hours", "max_items", fmt.Sprintf("must have at most %d shifts", maxShifts)}
	}
	return all, nil
}

// wordSpaces removes the spaces around dashes and after commas, and replaces the dashes of word processors.
func wordSpaces() *strings.Replacer {
	return strings.NewReplacer(" – ", "-", "–", "-", " - ", "-", " -", "-", "- ", "-", ", ", ",")
}

func hoursRefusal(part string) error {
	return refusal{"hours", "format", fmt.Sprintf("must be like %q, not %q", "mon-fri 09:00-12:30,13:30-17:00; sat 10:00-14:00", part)}
}

// weekdays reads days such as "mon-thu,sat", and returns their numbers: 1 is Monday.
func weekdays(text string) (days []int32, ok bool) {
	for part := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(part, "-")
		first, ok := weekday(from)
		last := first
		if ok && isRange {
			last, ok = weekday(to)
		}
		if !ok {
			return nil, false
		}
		for day := first; ; day = day%7 + 1 {
			if !slices.Contains(days, day) {
				days = append(days, day)
			}
			if day == last {
				break
			}
		}
	}
	return days, true
}

// weekday returns the number of a day whose English name begins with text, of at least two letters.
func weekday(text string) (int32, bool) {
	text = strings.ToLower(strings.TrimSpace(text))
	for day := range int32(7) {
		name := strings.ToLower(time.Weekday((day + 1) % 7).String())
		if len(text) > 1 && strings.HasPrefix(name, text) {
			return day + 1, true
		}
	}
	return 0, false
}

// wallTimes reads times such as "09:00-12:30,13:30-17:00".
func wallTimes(text string) (ranges [][2]string, ok bool) {
	for part := range strings.SplitSeq(text, ",") {
		from, to, found := strings.Cut(strings.TrimSpace(part), "-")
		starts, startsOK := wallTime(from)
		ends, endsOK := wallTime(to)
		if strings.TrimSpace(to) == "24:00" {
			ends, endsOK = "24:00", true
		}
		if !found || !startsOK || !endsOK {
			return nil, false
		}
		ranges = append(ranges, [2]string{starts, ends})
	}
	return ranges, true
}

// wallTime returns a time as HH:MM. It also reads "9:00".
func wallTime(text string) (string, bool) {
	at, err := time.Parse("15:04", strings.TrimSpace(text))
	return at.Format("15:04"), err == nil
}
