package model

import (
	"net/url"
	"regexp"
	"strings"
	"time"

	"reservation.dev/platform/check"
	"reservation.dev/platform/id"
)

// Limits of staff.
const (
	maxPhotoURL = 2000
	maxBio      = 5000
)

// StaffMember is a person who gives appointments or teaches classes.
type StaffMember struct {
	ID        id.StaffMember
	Name      string
	Email     string
	PhotoURL  string
	Bio       string
	Color     string // "#" and six hexadecimal digits in lower case
	Active    bool
	Reference string
	Version   int64
	CreatedAt time.Time
	UpdatedAt time.Time
}

var colorForm = regexp.MustCompile(`^#[0-9a-f]{6}$`)

// DefaultColor returns the colour of the next person of a company that has n people: one of twelve in turn.
func DefaultColor(n int) string {
	colors := [...]string{
		"#1f77b4", "#d35400", "#2e8b57", "#8e44ad", "#c0392b", "#16798a",
		"#b8860b", "#3f51b5", "#a0522d", "#607d1f", "#c2185b", "#546e7a",
	}
	return colors[n%len(colors)]
}

// Check trims and checks the fields of a person. An empty colour is valid for a new person, whose colour
// the service chooses.
func (m *StaffMember) Check(f *check.Fields) {
	m.Name = f.Line("name", m.Name, 1, maxResourceName)
	if m.Email = strings.TrimSpace(m.Email); m.Email != "" {
		m.Email = f.Email("email", m.Email)
	}
	if m.PhotoURL = f.Line("photo_url", m.PhotoURL, 0, maxPhotoURL); m.PhotoURL != "" && !isHTTPS(m.PhotoURL) {
		f.Add("photo_url", "format", "must be an address that begins with https://")
	}
	m.Bio = f.Prose("bio", m.Bio, 0, maxBio)
	m.Color = strings.ToLower(m.Color)
	if m.Color != "" && !colorForm.MatchString(m.Color) {
		f.Add("color", "format", "must be # and six hexadecimal digits, for example #1f77b4")
	}
	m.Reference = f.Line("reference", m.Reference, 0, maxReference)
}

// isHTTPS reports whether text is the https address of a resource on a host, without a user name.
func isHTTPS(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Scheme == "https" && u.Hostname() != "" && u.User == nil
}

// StaffChange is a request to change a person. Fields that are nil do not change.
type StaffChange struct {
	Name, Email, PhotoURL, Bio, Color *string
	Active                            *bool
}

// Apply returns the person after the change.
func (c *StaffChange) Apply(m StaffMember) (StaffMember, error) {
	for _, text := range []struct{ from, to *string }{
		{c.Name, &m.Name}, {c.Email, &m.Email}, {c.PhotoURL, &m.PhotoURL}, {c.Bio, &m.Bio}, {c.Color, &m.Color},
	} {
		if text.from != nil {
			*text.to = *text.from
		}
	}
	if c.Active != nil {
		m.Active = *c.Active
	}
	var faults check.Fields
	m.Check(&faults)
	if m.Color == "" {
		faults.Add("color", "required", "is required")
	}
	return m, faults.Err()
}

// Raise increases the version of a locked person who changes now.
func (m *StaffMember) Raise(now time.Time) {
	m.Version++
	m.UpdatedAt = now
}
