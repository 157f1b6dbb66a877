package fault

import "strings"

// OneOf is the phrase about a value that must be one of names, which are not empty:
// "must be a, b or c".
func OneOf(names []string) string {
	last := len(names) - 1
	if last == 0 {
		return "must be " + names[0]
	}
	return "must be " + strings.Join(names[:last], ", ") + " or " + names[last]
}
