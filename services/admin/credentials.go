package admin

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/roles"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// grant is a scope, a permission or a webhook event, as a form explains it.
type grant struct {
	Name         string
	Title, About *message
	Group        *message // heads the grant and those after it; nil if the form has no groups
}

// checkGrants returns the ticked boxes of a form. If none is ticked, it adds the error choose to
// the form.
func checkGrants(f *form, name string, choose *message) []string {
	all := f.All(name)
	if len(all) == 0 {
		f.add(name, choose)
	}
	return all
}

// credentialKind is a kind of credentials: API clients or API keys. Their pages differ only
// in what this type describes.
type credentialKind struct {
	credentialService
	Path, Section string
	texts         string // the beginning of the kind's message ids: "settings.api_client."
	// GrantField is the form's field of scopes or permissions.
	GrantField string
	Grants     []grant
	LimitNew   bool // a new credential can have a rate limit
	// tokenPath is the address that issues access tokens; idMember and secretMember are the
	// JSON members of that request.
	tokenPath              func(cfg *Config) string
	idMember, secretMember string
}

// Text returns a message of the kind, by the end of its id.
func (k credentialKind) Text(name string) *message { return msg(k.texts + name) }

// credentialService is the service of a kind of credentials.
type credentialService interface {
	list(r *request, pageToken string) (all []credentialView, next string, err error)
	get(r *request, id string) (credentialView, error)
	create(r *request, f *form, c credentialFields) (created credentialView, secret string, err error)
	update(r *request, f *form, id string, c credentialFields) error
	rotate(r *request, id string, o overlap) (rotated credentialView, secret string, err error)
	endPrevious(r *request, id string) error
	disable(r *request, id string) error
	enable(r *request, id string) error
	remove(r *request, id string) error
}

// credentialFields are the fields of a credential's form.
type credentialFields struct {
	name, description string
	grants            []string
	expires           *int32                  // in days; nil for no expiry
	limit             *int32                  // nil if the form does not set it
	networks          *authv1.AllowedNetworks // nil if the form does not set them
}

// overlap is what a rotation does with the secrets before it.
type overlap struct {
	days  int32 // for how many days the current secret stays valid
	force bool  // end the previous secret, if it is still valid
}

// credentialView is a credential as a page shows it.
type credentialView struct {
	credential
	Grants []string
	limit  *int32
	// Recent are the latest requests, on the credential's page.
	Recent *recentRequests
}

// credential is what API clients and API keys have in common.
type credential interface {
	GetId() string
	GetName() string
	GetDescription() string
	GetState() authv1.CredentialState
	GetCreatedAt() *timestamppb.Timestamp
	GetRotatedAt() *timestamppb.Timestamp
	GetExpiresAt() *timestamppb.Timestamp
	GetLastUsedAt() *timestamppb.Timestamp
	GetPreviousSecretExpiresAt() *timestamppb.Timestamp
	GetPreviousSecretLastUsedAt() *timestamppb.Timestamp
	GetAllowedNetworks() []string
}

// State returns the credential's state as a tag.
func (c credentialView) State() stateTag {
	switch c.GetState() {
	case authv1.CredentialState_CREDENTIAL_STATE_ACTIVE:
		return stateTag{"good", msg("settings.credential.active")}
	case authv1.CredentialState_CREDENTIAL_STATE_DISABLED:
		return stateTag{"warn", msg("settings.credential.disabled")}
	case authv1.CredentialState_CREDENTIAL_STATE_EXPIRED:
		return stateTag{"bad", msg("settings.credential.expired")}
	}
	return stateTag{"bad", msg("settings.credential.unknown")}
}

// IsDisabled reports whether an owner has disabled the credential.
func (c credentialView) IsDisabled() bool {
	return c.GetState() == authv1.CredentialState_CREDENTIAL_STATE_DISABLED
}

func (k credentialKind) routes() []route {
	return []route{
		get(k.Path, roles.Credentials, k.showAll),
		get(k.Path+"/new", roles.Credentials, k.showNew),
		post(k.Path, roles.Credentials, byAuth(), k.add),
		get(k.Path+"/{id}", roles.Credentials, k.show),
		post(k.Path+"/{id}", roles.Credentials, byAuth(), k.save),
		get(k.Path+"/{id}/{action}", roles.Credentials, k.confirm),
		post(k.Path+"/{id}/{action}", roles.Credentials, byAuth(), k.change),
	}
}

// credentialsPage is the list of credentials.
type credentialsPage struct {
	Kind        credentialKind
	Credentials []credentialView
	Next        string
}

func (p credentialsPage) head() (*message, string) { return p.Kind.Text("title"), p.Kind.Section }

func (k credentialKind) showAll(r *request) error {
	all, next, err := k.list(r, r.query("page"))
	if err != nil {
		return err
	}
	return r.render("credentials", credentialsPage{k, all, r.with("page", next)})
}

// credentialPage creates or changes a credential.
type credentialPage struct {
	Kind       credentialKind
	Form       *form
	Credential *credentialView // nil for a new one
}

func (p credentialPage) head() (*message, string) {
	if p.Credential == nil {
		return p.Kind.Text("add"), p.Kind.Section
	}
	return literal(p.Credential.GetName()), p.Kind.Section
}

func (k credentialKind) showNew(r *request) error {
	return r.render("credential-new", credentialPage{Kind: k, Form: newForm()})
}

// form returns the form that was sent, and its fields.
func (k credentialKind) form(r *request) (*form, credentialFields) {
	f := r.sent(map[string]string{"expires_after_days": "expires", "rate_limit": "limit", "allowed_networks": "networks"})
	c := credentialFields{
		name: f.required("name", msg("settings.credential.name_label")), description: f.text("description"),
		grants: checkGrants(f, k.GrantField, k.Text("choose")),
	}
	if days, given := f.integer("expires", msg("settings.credential.expires_after_label"), 1, 3650); given {
		n := int32(days)
		c.expires = &n
	}
	if limit, given := f.integer("limit", msg("settings.credential.limit_label"), 1, 10000); given {
		n := int32(limit)
		c.limit = &n
	}
	if f.values.Has("networks") {
		c.networks = &authv1.AllowedNetworks{Values: readNetworks(f)}
	}
	return f, c
}

// maxNetworks is how many networks a credential can have.
const maxNetworks = 20

// readNetworks reads the allowed networks, which are separated by lines, spaces or commas.
func readNetworks(f *form) []string {
	all := strings.FieldsFunc(f.text("networks"), func(c rune) bool { return c == ',' || unicode.IsSpace(c) })
	if len(all) > maxNetworks {
		f.add("networks", msg("settings.credential.too_many_networks"))
	}
	return all
}

func (k credentialKind) add(r *request) error {
	f, fields := k.form(r)
	c, secret, err := k.create(r, f, fields)
	if err != nil {
		return r.again(err, "credential-new", credentialPage{Kind: k, Form: f})
	}
	if secret == "" {
		return k.alreadyAdded(r, c)
	}
	return k.showSecret(r, k.Text("created"), c, secret, k.Path)
}

// secretPage shows a new secret, the only time that it is shown.
type secretPage struct {
	Kind                         credentialKind
	Title                        *message
	Name, ID, Secret, Curl, Back string
}

func (p secretPage) head() (*message, string) { return p.Title, p.Kind.Section }

func (k credentialKind) showSecret(r *request, title *message, c credentialView, secret, back string) error {
	return r.render("secret", secretPage{
		Kind: k, Title: title, Name: c.GetName(), ID: c.GetId(), Secret: secret, Back: back,
		Curl: "curl -X POST " + k.tokenPath(r.web.cfg) + " \\\n  -H 'Content-Type: application/json' \\\n  -d '{\"" +
			k.idMember + "\":\"" + c.GetId() + "\",\"" + k.secretMember + "\":\"" + secret + "\"}'",
	})
}

// alreadyAdded answers the second of two equal forms: the first one created the credential.
func (k credentialKind) alreadyAdded(r *request, c credentialView) error {
	path := k.Path + "/" + c.GetId()
	return r.render("already", alreadyPage{
		Title: r.text(k.Text("already.title")), Section: k.Section, Subject: c.GetName(),
		Text: r.text(k.Text("already.text")), Lost: r.text(k.Text("already.lost")),
		Next: path, Button: r.text(k.Text("already.button")), Again: path + "/rotate", AgainButton: r.text(k.Text("already.again")),
	})
}

// alreadyRotated answers the second of two equal forms: the first one rotated the secret.
func (k credentialKind) alreadyRotated(r *request, c credentialView, path string) error {
	return r.render("already", alreadyPage{
		Title: r.text("settings.secret.already_rotated.title"), Section: k.Section, Subject: c.GetName(),
		Text: r.text("settings.secret.already_rotated.text"), Lost: r.text("settings.secret.already_rotated.lost"),
		Next: path, Button: r.text("settings.secret.copied"), Again: path + "/rotate", AgainButton: r.text("settings.secret.already_rotated.again"),
	})
}

func (k credentialKind) show(r *request) error {
	c, err := k.get(r, r.path("id"))
	if err != nil {
		return err
	}
	f := newForm("name", c.GetName(), "description", c.GetDescription(), "networks", strings.Join(c.GetAllowedNetworks(), "\n"))
	f.values[k.GrantField] = slices.Clone(c.Grants)
	if c.limit != nil {
		f.values.Set("limit", strconv.Itoa(int(*c.limit)))
	}
	c.Recent = r.recentRequests(c.GetId())
	return r.render("credential", credentialPage{k, f, &c})
}

func (k credentialKind) save(r *request) error {
	c, err := k.get(r, r.path("id"))
	if err != nil {
		return err
	}
	f, fields := k.form(r)
	if fields.limit == nil {
		fields.limit = new(int32) // 0 removes the limit
	}
	if err := k.update(r, f, c.GetId(), fields); err != nil {
		return r.again(err, "credential", credentialPage{k, f, &c})
	}
	return r.back(k.Path+"/"+c.GetId(), r.text("settings.credential.saved"))
}

// credentialEffects counts the effects that the page before an action lists.
var credentialEffects = map[string]int{"rotate": 3, "end-previous-secret": 2, "disable": 2, "enable": 1, "delete": 2}

// confirmation lists the effects of an action; ok is false if the action does not exist.
func (k credentialKind) confirmation(r *request, action string) (p confirmPage, ok bool) {
	n, ok := credentialEffects[action]
	if !ok {
		return p, false
	}
	return r.confirmation(k.texts+"confirm."+strings.ReplaceAll(action, "-", "_"), n, action != "enable"), true
}

// chooseOverlap adds to the page before a rotation how long the current secret stays valid, and that a
// previous one ends. The form says that the page has said so.
func (r *request) chooseOverlap(p *confirmPage, c credentialView) {
	p.Form = newForm("overlap", "0")
	p.Overlaps = optionsOf([]string{"0", "1", "3", "7"}, func(days string) string {
		n, _ := strconv.Atoi(days)
		if n == 0 {
			return r.text("settings.credential.overlap_none")
		}
		return r.text("settings.credential.overlap_days", "count", n)
	})
	if ends := c.GetPreviousSecretExpiresAt(); ends != nil {
		p.Effects = append(p.Effects, r.text("settings.credential.ends_previous", "time", r.session.Clock.Time(ends)))
		p.Hidden = map[string]string{"force": "true"}
	}
}

// sentOverlap reads what the page before a rotation asks for. A form without it, from an earlier
// release, has no overlap.
func (r *request) sentOverlap() (overlap, error) {
	f := r.sent(nil)
	days, _ := f.integer("overlap", msg("settings.credential.overlap"), 0, 7)
	if f.Failed() {
		return overlap{}, fault.Missing("page")
	}
	return overlap{days: int32(days), force: r.value("force") == "true"}, nil
}

func (k credentialKind) confirm(r *request) error {
	p, ok := k.confirmation(r, r.path("action"))
	if !ok {
		return fault.Missing("page")
	}
	c, err := k.get(r, r.path("id"))
	if err != nil {
		return err
	}
	if r.path("action") == "rotate" {
		r.chooseOverlap(&p, c)
	}
	return r.confirm(p, k.Section, c.GetName(), k.Path+"/"+c.GetId())
}

func (k credentialKind) change(r *request) error {
	id := r.path("id")
	path := k.Path + "/" + id
	var err error
	switch r.path("action") {
	case "rotate":
		return k.replaceSecret(r, id, path)
	case "end-previous-secret":
		if err = k.endPrevious(r, id); err == nil {
			return r.back(path, r.text("settings.credential.previous_ended"))
		}
	case "disable":
		if err = k.disable(r, id); err == nil {
			return r.back(path, r.text(k.Text("is_disabled")))
		}
	case "enable":
		if err = k.enable(r, id); err == nil {
			return r.back(path, r.text(k.Text("is_enabled")))
		}
	case "delete":
		if err = k.remove(r, id); err == nil {
			return r.back(k.Path, r.text(k.Text("is_deleted")))
		}
	default:
		return fault.Missing("page")
	}
	return r.refused(path, err)
}

func (k credentialKind) replaceSecret(r *request, id, path string) error {
	o, err := r.sentOverlap()
	if err != nil {
		return err
	}
	c, secret, err := k.rotate(r, id, o)
	if err != nil {
		return r.refused(path, err)
	}
	if secret == "" {
		return k.alreadyRotated(r, c, path)
	}
	return k.showSecret(r, msg("settings.secret.rotated"), c, secret, path)
}
