package admin

import "strconv"

// confirmPage says what an action breaks before it is done.
type confirmPage struct {
	Title, Section string
	// Subject is what it is done to.
	Subject string
	Effects []string
	// Action is the path that the form is sent to, Button what it says.
	Action, Button string
	Danger         bool
	Back           string
	// Reason offers a field for one.
	Reason bool
	Hidden map[string]string
	// Affected are the people who are.
	Affected affected
}

func (p confirmPage) head() (*message, string) { return literal(p.Title), p.Section }

// confirm asks before the action of this path is done to the subject; p says what it
// does, and back leads to the page before.
func (r *request) confirm(p confirmPage, section, subject, back string) error {
	p.Section, p.Subject, p.Action, p.Back = section, subject, r.http.URL.Path, back
	return r.render("confirm", p)
}

// confirmation returns the page before an action, with so many effects. The messages are
// those whose ids begin with id: title, button, effect_1, effect_2, ….
func (r *request) confirmation(id string, effects int, danger bool) confirmPage {
	p := confirmPage{Title: r.text(id + ".title"), Button: r.text(id + ".button"), Danger: danger}
	for i := range effects {
		p.Effects = append(p.Effects, r.text(id+".effect_"+strconv.Itoa(i+1)))
	}
	return p
}

// alreadyPage answers a form that was sent twice and whose answer held a secret:
// that is nowhere to be shown again.
type alreadyPage struct {
	Title, Section, Subject string
	// Text is what has happened, Lost what to do about a secret that nobody has seen.
	Text, Lost   string
	Next, Button string
	// Again leads to another secret; "": Next does.
	Again, AgainButton string
}

func (p alreadyPage) head() (*message, string) { return literal(p.Title), p.Section }

// stateTag is a status as pages show it: its text, and the class of the tag's colour.
type stateTag struct {
	Class string
	Text  *message
}
