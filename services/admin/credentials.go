package admin

import (
	"slices"
	"strconv"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// grant is a scope or a permission, as the pages explain it.
type grant struct{ Name, Title, About string }

// checkGrants reads the boxes of a form, of which one must be ticked.
func checkGrants(f *form, name, noun string) []string {
	all := f.All(name)
	if len(all) == 0 {
		f.add(name, literal("Choose at least one "+noun+"."))
	}
	return all
}

// credentialKind is a kind of credentials: API clients or API keys. Their pages
// differ only in what this type describes.
type credentialKind struct {
	credentialService
	Path, Section, Title string
	Noun                 string // what one is called: "client"
	About, First         string // what they are; why to add the first
	User                 string // what signs in with one
	IDLabel, SecretLabel string
	// GrantField is the form's field of what one may do, GrantNoun what a grant is called.
	GrantField, GrantNoun, GrantsLabel string
	Grants                             []grant
	NoLimit                            string // what an empty rate limit means
	LimitNew                           bool   // a new one can have a rate limit
	// tokenPath is where one gets access tokens; idMember and secretMember are the JSON
	// members of that request.
	tokenPath              func(cfg *Config) string
	idMember, secretMember string
}

// AddTitle is the title of the page that adds one.
func (k credentialKind) AddTitle() string { return "Add " + upperFirst(k.Noun) }

// credentialService is the service of a kind of credentials.
type credentialService interface {
	list(r *request, pageToken string) (all []credentialView, next string, err error)
	get(r *request, id string) (credentialView, error)
	create(r *request, f *form, c credentialFields) (created credentialView, secret string, err error)
	update(r *request, f *form, id string, c credentialFields) error
	rotate(r *request, id string) (rotated credentialView, secret string, err error)
	disable(r *request, id string) error
	enable(r *request, id string) error
	remove(r *request, id string) error
}

// credentialFields are what a form says of a credential.
type credentialFields struct {
	name, description string
	grants            []string
	expires           *int32 // days; nil: never
	limit             *int32 // nil: not said
}

// credentialView is a credential as a page shows it.
type credentialView struct {
	credential
	Grants []string
	limit  *int32
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
}

// StateName says how the credential stands.
func (c credentialView) StateName() string {
	switch c.GetState() {
	case authv1.CredentialState_CREDENTIAL_STATE_ACTIVE:
		return "Active"
	case authv1.CredentialState_CREDENTIAL_STATE_DISABLED:
		return "Disabled"
	case authv1.CredentialState_CREDENTIAL_STATE_EXPIRED:
		return "Expired"
	}
	return "Unknown"
}

func (k credentialKind) routes() []route {
	return []route{
		get(k.Path, owner, k.showAll),
		get(k.Path+"/new", owner, k.showNew),
		post(k.Path, owner, byAuth(), k.add),
		get(k.Path+"/{id}", owner, k.show),
		post(k.Path+"/{id}", owner, byAuth(), k.save),
		get(k.Path+"/{id}/{action}", owner, k.confirm),
		post(k.Path+"/{id}/{action}", owner, byAuth(), k.change),
	}
}

// credentialsPage is the list of credentials.
type credentialsPage struct {
	Kind        credentialKind
	Credentials []credentialView
	Next        string
}

func (p credentialsPage) head() (*message, string) { return literal(p.Kind.Title), p.Kind.Section }

func (k credentialKind) showAll(r *request) error {
	all, next, err := k.list(r, r.query("page"))
	if err != nil {
		return err
	}
	return r.render("credentials", credentialsPage{k, all, r.with("page", next)})
}

// credentialPage makes or changes a credential.
type credentialPage struct {
	Kind       credentialKind
	Form       *form
	Credential *credentialView // nil: a new one
}

func (p credentialPage) head() (*message, string) {
	if p.Credential == nil {
		return literal(p.Kind.AddTitle()), p.Kind.Section
	}
	return literal(p.Credential.GetName()), p.Kind.Section
}

func (k credentialKind) showNew(r *request) error {
	return r.render("credential-new", credentialPage{Kind: k, Form: newForm()})
}

// form returns the form that was sent, and what it says.
func (k credentialKind) form(r *request) (*form, credentialFields) {
	f := r.sent(map[string]string{"expires_after_days": "expires", "rate_limit": "limit"})
	c := credentialFields{name: f.required("name", literal("a name")), description: f.text("description"), grants: checkGrants(f, k.GrantField, k.GrantNoun)}
	if days, given := f.integer("expires", literal("the number of days"), 1, 3650); given {
		n := int32(days)
		c.expires = &n
	}
	if limit, given := f.integer("limit", literal("the limit"), 1, 10000); given {
		n := int32(limit)
		c.limit = &n
	}
	return f, c
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
	return k.showSecret(r, upperFirst(k.Noun)+" created", c, secret, k.Path)
}

// secretPage shows a secret, this once.
type secretPage struct {
	Title, Section, Name, IDLabel, ID, SecretLabel, Secret, Curl, Back string
}

func (p secretPage) head() (*message, string) { return literal(p.Title), p.Section }

func (k credentialKind) showSecret(r *request, title string, c credentialView, secret, back string) error {
	return r.render("secret", secretPage{
		Title: title, Section: k.Section, Name: c.GetName(), IDLabel: k.IDLabel, ID: c.GetId(), SecretLabel: k.SecretLabel, Secret: secret,
		Curl: "curl -X POST " + k.tokenPath(r.web.cfg) + " \\\n  -H 'Content-Type: application/json' \\\n  -d '{\"" +
			k.idMember + "\":\"" + c.GetId() + "\",\"" + k.secretMember + "\":\"" + secret + "\"}'",
		Back: back,
	})
}

// alreadyAdded says that a credential was made by the first of two equal forms.
func (k credentialKind) alreadyAdded(r *request, c credentialView) error {
	path := k.Path + "/" + c.GetId()
	return r.render("already", alreadyPage{
		Title: "Already created", Section: k.Section, Subject: c.GetName(),
		Text: "This form was sent twice. The " + k.Noun + " was made once, the first time, and its secret was shown in the first answer.",
		Lost: "If you have not copied the secret, rotate it: that makes a new one and shows it.",
		Next: path, Button: "Open the " + k.Noun, Again: path + "/rotate", AgainButton: "Rotate the secret…",
	})
}

// alreadyRotated says that a secret was replaced by the first of two equal forms.
func (k credentialKind) alreadyRotated(r *request, c credentialView, path string) error {
	return r.render("already", alreadyPage{
		Title: "Already rotated", Section: k.Section, Subject: c.GetName(),
		Text: "This form was sent twice. The secret was rotated once, the first time, and the new one was shown in the first answer.",
		Lost: "If you have not copied it, rotate again: that makes another one and shows it.",
		Next: path, Button: "I have copied it", Again: path + "/rotate", AgainButton: "Rotate again…",
	})
}

func (k credentialKind) show(r *request) error {
	c, err := k.get(r, r.path("id"))
	if err != nil {
		return err
	}
	f := newForm("name", c.GetName(), "description", c.GetDescription())
	f.values[k.GrantField] = slices.Clone(c.Grants)
	if c.limit != nil {
		f.values.Set("limit", strconv.Itoa(int(*c.limit)))
	}
	return r.render("credential", credentialPage{k, f, &c})
}

func (k credentialKind) save(r *request) error {
	c, err := k.get(r, r.path("id"))
	if err != nil {
		return err
	}
	f, fields := k.form(r)
	if fields.limit == nil {
		fields.limit = new(int32) // none of its own
	}
	if err := k.update(r, f, c.GetId(), fields); err != nil {
		return r.again(err, "credential", credentialPage{k, f, &c})
	}
	return r.back(k.Path+"/"+c.GetId(), "Saved.")
}

// confirmation says what an action does; ok is false if the action does not exist.
func (k credentialKind) confirmation(action string) (p confirmPage, ok bool) {
	p, ok = map[string]confirmPage{
		"rotate": {Title: "Rotate the secret", Button: "Rotate the secret", Danger: true, Effects: []string{
			"The present secret stops working at once: whatever uses it gets “invalid credentials” until it has the new one.",
			"Every access token that was issued to this " + k.Noun + " is revoked within a second; requests with it are answered 401.",
			"The new secret is shown once, on the next page. Have whoever runs the integration ready to put it in place.",
		}},
		"disable": {Title: "Disable this " + k.Noun, Button: "Disable", Danger: true, Effects: []string{
			"It gets no more access tokens, and those it has are revoked within a second.",
			k.User + " stops until you enable it again. The secret stays the same.",
		}},
		"enable": {Title: "Enable this " + k.Noun, Button: "Enable", Effects: []string{
			"It gets access tokens again, with its present secret.",
		}},
		"delete": {Title: "Delete this " + k.Noun, Button: "Delete for good", Danger: true, Effects: []string{
			"Its id and secret stop working at once and for good; its access tokens are revoked within a second.",
			k.User + " stops. This cannot be undone: a new " + k.Noun + " has another id and another secret.",
		}},
	}[action]
	return p, ok
}

func (k credentialKind) confirm(r *request) error {
	p, ok := k.confirmation(r.path("action"))
	if !ok {
		return fault.Missing("page")
	}
	c, err := k.get(r, r.path("id"))
	if err != nil {
		return err
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
	case "disable":
		if err = k.disable(r, id); err == nil {
			return r.back(path, "The "+k.Noun+" is disabled. Its access tokens are revoked.")
		}
	case "enable":
		if err = k.enable(r, id); err == nil {
			return r.back(path, "The "+k.Noun+" is enabled.")
		}
	case "delete":
		if err = k.remove(r, id); err == nil {
			return r.back(k.Path, "The "+k.Noun+" is deleted.")
		}
	default:
		return fault.Missing("page")
	}
	return r.refused(path, err)
}

func (k credentialKind) replaceSecret(r *request, id, path string) error {
	c, secret, err := k.rotate(r, id)
	if err != nil {
		return err
	}
	if secret == "" {
		return k.alreadyRotated(r, c, path)
	}
	return k.showSecret(r, "New secret", c, secret, path)
}
