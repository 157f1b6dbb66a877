package admin

import (
	"strings"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// publishablePath is the path of the list of publishable keys.
const publishablePath = "/settings/publishable-keys"

// publishableView is a publishable key as a page shows it.
type publishableView struct {
	*authv1.PublishableKey
	// Recent are the latest requests, on the key's page.
	Recent *recentRequests
}

// Path is the path of the key's page.
func (k publishableView) Path() string { return publishablePath + "/" + k.GetId() }

// State returns the key's state as a tag.
func (k publishableView) State() stateTag {
	if k.GetEnabled() {
		return stateTag{"good", msg("settings.credential.active")}
	}
	return stateTag{"warn", msg("settings.credential.disabled")}
}

// publishablesPage is the list of publishable keys.
type publishablesPage struct{ Keys []publishableView }

func (publishablesPage) head() (*message, string) {
	return msg("settings.publishable.title"), "publishable-keys"
}

func (r *request) publishableKeys() error {
	res, err := r.services.publishable.ListPublishableKeys(r.ctx, &authv1.ListPublishableKeysRequest{})
	if err != nil {
		return err
	}
	keys := views(res.GetPublishableKeys(), func(k *authv1.PublishableKey) publishableView { return publishableView{PublishableKey: k} })
	return r.render("publishable-keys", publishablesPage{keys})
}

// publishablePage adds or changes a publishable key.
type publishablePage struct {
	Key     *publishableView // nil for a new one
	Form    *form
	Snippet string // reads the next dates with the key
}

func (p publishablePage) head() (*message, string) {
	if p.Key == nil {
		return msg("settings.publishable.add"), "publishable-keys"
	}
	return literal(p.Key.GetName()), "publishable-keys"
}

// Action is the path that the form is sent to.
func (p publishablePage) Action() string {
	if p.Key == nil {
		return publishablePath
	}
	return p.Key.Path()
}

// findPublishable returns the page of the key in the path; that of a new one if the path has none.
func (r *request) findPublishable() (publishablePage, error) {
	if r.path("id") == "" {
		return publishablePage{Form: newForm()}, nil
	}
	res, err := r.services.publishable.GetPublishableKey(r.ctx, &authv1.GetPublishableKeyRequest{Id: r.path("id")})
	if err != nil {
		return publishablePage{}, err
	}
	k := res.GetPublishableKey()
	p := publishablePage{
		Key: &publishableView{PublishableKey: k}, Form: newForm("name", k.GetName(), "origins", strings.Join(k.GetOrigins(), "\n")),
		Snippet: "fetch(\"" + r.web.cfg.InterfaceB + "/event-dates?available=true\", {\n  headers: { Authorization: \"Bearer " + k.GetId() +
			"\" },\n})\n  .then((response) => response.json())\n  .then((page) => console.log(page.eventDates));",
	}
	p.Form.setVersion(k.GetVersion())
	return p, nil
}

// readPublishable reads the name of a key, and its origins, which are separated by spaces or lines.
func readPublishable(f *form) (name string, origins []string) {
	return f.required("name", msg("settings.credential.name_label")), strings.Fields(f.text("origins"))
}

// showPublishable shows the page of a key, with its latest requests.
func (r *request) showPublishable() error {
	p, err := r.findPublishable()
	if err != nil {
		return err
	}
	p.Key.Recent = r.recentRequests(p.Key.GetId())
	return r.render("publishable-key", p)
}

func (r *request) addPublishable() error {
	f := r.sent(nil)
	name, origins := readPublishable(f)
	res, err := submit(r, f, r.services.publishable.CreatePublishableKey, &authv1.CreatePublishableKeyRequest{Name: name, Origins: origins})
	if err != nil {
		return r.again(err, "publishable-key", publishablePage{Form: f})
	}
	return r.back(publishableView{PublishableKey: res.GetPublishableKey()}.Path(), r.text("settings.publishable.added"))
}

func (r *request) updatePublishable() error {
	p, err := r.findPublishable()
	if err != nil {
		return err
	}
	p.Form = r.sent(nil)
	name, origins := readPublishable(p.Form)
	_, err = submit(r, p.Form, r.services.publishable.UpdatePublishableKey, &authv1.UpdatePublishableKeyRequest{
		Id: p.Key.GetId(), Name: &name, Origins: &authv1.Origins{Values: origins}, ExpectedVersion: p.Form.expectedVersion(p.Key.GetVersion()),
	})
	if err != nil {
		return r.again(err, "publishable-key", p)
	}
	return r.back(p.Key.Path(), r.text("settings.credential.saved"))
}

// publishableEffects counts the effects that the page before an action lists.
var publishableEffects = map[string]int{"disable": 2, "enable": 1, "delete": 2}

func (r *request) confirmPublishable() error {
	action := r.path("action")
	effects, ok := publishableEffects[action]
	if !ok {
		return fault.Missing("page")
	}
	p, err := r.findPublishable()
	if err != nil {
		return err
	}
	return r.confirm(r.confirmation("settings.publishable.confirm."+action, effects, action != "enable"), "publishable-keys", p.Key.GetName(), p.Key.Path())
}

func (r *request) changePublishable() error {
	s, key := r.services.publishable, r.path("id")
	path := publishablePath + "/" + key
	var err error
	switch r.path("action") {
	case "enable":
		if _, err = perform(r, s.UpdatePublishableKey, &authv1.UpdatePublishableKeyRequest{Id: key, Enabled: proto.Bool(true)}); err == nil {
			return r.back(path, r.text("settings.publishable.is_enabled"))
		}
	case "disable":
		if _, err = perform(r, s.UpdatePublishableKey, &authv1.UpdatePublishableKeyRequest{Id: key, Enabled: proto.Bool(false)}); err == nil {
			return r.back(path, r.text("settings.publishable.is_disabled"))
		}
	case "delete":
		if _, err = perform(r, s.DeletePublishableKey, &authv1.DeletePublishableKeyRequest{Id: key}); err == nil {
			return r.back(publishablePath, r.text("settings.publishable.is_deleted"))
		}
	default:
		return fault.Missing("page")
	}
	return r.refused(path, err)
}
