package admin

import "strconv"

// confirmPage says what an action does, before it is done.
type confirmPage struct {
	Title, Section string
	// Subject is the thing that the action changes.
	Subject string
	Effects []string
	// Action is the path of the form, Button the text of its button.
	Action, Button string
	Danger         bool
	Back           string
	// Reason adds a field for a reason.
	Reason bool
	Hidden map[string]string
	// Overlaps are the choices for how long a secret stays valid that is replaced; Form has the first.
	Overlaps []option
	Form     *form
	// Affected are the customers whom the action affects.
	Affected affected
}

func (p confirmPage) head() (*message, string) { return literal(p.Title), p.Section }

// confirm shows p, the page that asks for confirmation of the action in the path. subject is the
// thing affected, and back the path of the previous page.
func (r *request) confirm(p confirmPage, section, subject, back string) error {
	p.Section, p.Subject, p.Action, p.Back = section, subject, r.http.URL.Path, back
	return r.render("confirm", p)
}

// confirmation returns the page before an action, with the given number of effects. The ids of its
// messages begin with id: title, button, effect_1, effect_2, ….
func (r *request) confirmation(id string, effects int, danger bool) confirmPage {
	p := confirmPage{Title: r.text(id + ".title"), Button: r.text(id + ".button"), Danger: danger}
	for i := range effects {
		p.Effects = append(p.Effects, r.text(id+".effect_"+strconv.Itoa(i+1)))
	}
	return p
}

// alreadyPage answers a form that was sent twice and whose first response had a secret, which
// cannot be shown again.
type alreadyPage struct {
	Title, Section, Subject string
	// Text says what was done, Lost what to do if the secret was not copied.
	Text, Lost   string
	Next, Button string
	// Again is the path of a page that makes another secret; "" if Next is that page.
	Again, AgainButton string
}

func (p alreadyPage) head() (*message, string) { return literal(p.Title), p.Section }
