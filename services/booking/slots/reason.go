package slots

// Reason is why a slot is not free; "" if it is.
type Reason string

// The reasons, in the order in which the rules are applied. Several people can fail different rules: the
// reason is then the last one, because that person came furthest.
const (
	NoStaff        Reason = "no_staff"
	Length         Reason = "length" // not a length of the type
	Past           Reason = "past"
	OffGrid        Reason = "off_grid"
	BeyondHorizon  Reason = "beyond_horizon"
	NoHours        Reason = "no_hours"
	Holiday        Reason = "holiday"
	TimeOff        Reason = "time_off"
	TooShortNotice Reason = "too_short_notice"
	StaffBusy      Reason = "staff_busy"
	RoomBusy       Reason = "room_busy"
)

// stage is how far a start came: the index of the rule that it failed.
type stage int8

const (
	atNoStaff stage = iota
	atLength
	atPast
	atOffGrid
	atBeyondHorizon
	atNoHours
	atHoliday
	atTimeOff
	atTooShortNotice
	atStaffBusy
	atRoomBusy
	free
)

// reason returns the reason of a stage.
func (s stage) reason() Reason {
	return [...]Reason{
		NoStaff, Length, Past, OffGrid, BeyondHorizon, NoHours, Holiday, TimeOff, TooShortNotice, StaffBusy, RoomBusy, "",
	}[s]
}
