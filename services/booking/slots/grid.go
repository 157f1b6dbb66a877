package slots

import "time"

// onGrid reports whether the wall time of an instant in loc is on a grid of minutes after midnight.
func onGrid(at time.Time, loc *time.Location, minutes int32) bool {
	_, offset := at.In(loc).Zone()
	wall := at.Unix() + int64(offset)
	return (wall-int64(dateAt(wall))*secondsPerDay)%(int64(minutes)*60) == 0
}

// gridStarts calls each with the starts in s that are on a grid of minutes after midnight in loc, and
// the day that the clock shows. Between two clock changes, the wall time is that of UTC plus an offset. So
// a wall time that occurs twice is on the grid twice, and one that is skipped does not occur.
func gridStarts(s span, loc *time.Location, minutes int32, each func(start int64, day Date)) {
	for from := s.from; from < s.until; {
		at := time.Unix(from, 0).In(loc)
		_, offset := at.Zone()
		until := min(s.until, sameOffset(at))
		segmentStarts(span{from: from + int64(offset), until: until + int64(offset)}, int64(minutes)*60, func(wall int64, day Date) {
			each(wall-int64(offset), day)
		})
		from = until
	}
}

// sameOffset returns an instant after at until which the clock does not change.
func sameOffset(at time.Time) int64 {
	_, end := at.ZoneBounds()
	// On the last day of a leap year beyond the zone's table, ZoneBounds returns an end before at.
	if !end.After(at) {
		return at.Unix() + 60*60
	}
	return end.Unix()
}

// segmentStarts calls each with the wall times in s that are a multiple of step after midnight. All are
// seconds since the midnight at which 1970 began.
func segmentStarts(s span, step int64, each func(wall int64, day Date)) {
	for day := dateAt(s.from); ; day++ {
		midnight := int64(day) * secondsPerDay
		if midnight >= s.until {
			return
		}
		wall := midnight
		if s.from > midnight {
			wall += (s.from - midnight + step - 1) / step * step
		}
		for ; wall < min(s.until, midnight+secondsPerDay); wall += step {
			each(wall, day)
		}
	}
}
