package csvfile

import (
	"fmt"
	"slices"
	"strings"
)

// Columns are the columns that a file can have, by their normalised names.
type Columns struct {
	Required [][]string // each with its alternative names
	Optional []string
}

// ReportColumn is the prefix of the columns with which a report of refused rows begins. A Reader ignores them.
const ReportColumn = "refused"

// header returns the normalised name of each column of a header, and the titles of the
// unknown columns. The name of a column to ignore is "".
func (c Columns) header(header []string) (normal, ignored []string, err error) {
	names := c.names()
	normal = make([]string, len(header))
	at := map[string]string{}
	for i, title := range header {
		name := Column(title)
		if name == "" || strings.HasPrefix(name, ReportColumn) {
			continue
		}
		if !slices.Contains(names, name) {
			ignored = append(ignored, title)
			continue
		}
		if other, twice := at[name]; twice {
			return nil, nil, fmt.Errorf("the header has the column %q twice (%q and %q)", name, other, title)
		}
		at[name], normal[i] = title, name
	}
	var missing []string
	for _, alternatives := range c.Required {
		if !slices.ContainsFunc(alternatives, func(name string) bool { return at[name] != "" }) {
			missing = append(missing, alternatives[0])
		}
	}
	if len(missing) > 0 {
		return nil, nil, fmt.Errorf("the header has no column %s; it has %s", strings.Join(missing, ", "), quoted(header))
	}
	return normal, ignored, nil
}

// names returns all names of c.
func (c Columns) names() []string {
	return append(slices.Concat(c.Required...), c.Optional...)
}

// Nearest returns the known column that a title was probably meant to be, or "".
func (c Columns) Nearest(title string) string {
	name := Column(title)
	best, least := "", 3
	for _, known := range c.names() {
		if d := distance(name, known); d < least && d <= len(known)/2 {
			best, least = known, d
		}
	}
	return best
}

// Column normalises a title: "First Name", "firstName" and "first_name" become "firstname".
func Column(name string) string {
	return strings.Map(func(c rune) rune {
		if c == ' ' || c == '_' || c == '-' || c == '.' {
			return -1
		}
		return c
	}, strings.ToLower(strings.TrimSpace(name)))
}

func quoted(names []string) string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = fmt.Sprintf("%q", name)
	}
	return strings.Join(all, ", ")
}

// distance returns the number of one-letter changes that turn a into b.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		diagonal := row[0]
		row[0] = i + 1
		for j := range y {
			cost := diagonal
			if x[i] != y[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(y)]
}
