package reservectl

import "strings"

// differenceText returns a sentence about a kind of difference of staff, rooms, appointments and reports, or "".
func differenceText(what string) string {
	if strings.HasPrefix(what, "report.") {
		return "stored is what reports have, and computed what the owner has; to correct it, run reservectl report rebuild"
	}
	return map[string]string{
		"staff.overlaps":    "a staff member has appointments or classes at the same time: stored is how many, and none is right",
		"room.overlaps":     "a unit of a room has appointments or classes at the same time: stored is how many, and none is right",
		"assignment.time":   "staff or rooms of a date are taken at another time than the date: stored is all of the date's, and computed those at its time",
		"assignment.active": "staff or rooms of a date are taken although it is cancelled, or free although it takes place: stored is how many are taken, and computed how many must be",
		"room.unit":         "a room is used beyond its number of units: stored is how many assignments use such a unit, and none is right",
		"appointment.slot":  "a date of appointments has no customer, or not exactly one staff member: stored is what the date has, and computed what it must have",
	}[what]
}
