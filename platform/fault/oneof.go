package fault

import "strings"

// OneOf returns the phrase about a value that must be one of names: "must be a, b or c". names must
// not be empty.
func OneOf(names []string) string {
	last := len(names) - 1
	if last == 0 {
		return "must be " + names[0]
	}
	return "must be " + strings.Join(names[:last], ", ") + " or " + names[last]
}
