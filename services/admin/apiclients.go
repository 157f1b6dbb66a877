package admin

import (
	"strconv"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// grant is a scope or a permission, as the pages explain it.
type grant struct{ Name, Title, About string }

// clientScopes are the scopes of Interface A.
var clientScopes = []grant{
	{"customers:read", "List customers", "See every customer of your company who is not deleted: names, e-mail addresses and mobile numbers."},
	{"profile:read", "Read a customer's profile", "See the profile of one customer whose id the client knows."},
	{"profile:write", "Change a customer's profile", "Change first name, last name, e-mail address and mobile number of a customer. Passwords and pictures cannot be changed."},
	{"bookings:read", "Read bookings", "See what a customer has booked: events, dates, places, prices, cancellations and refunds."},
}

// credentialState says how a credential stands.
func credentialState(s authv1.CredentialState) string {
	switch s {
	case authv1.CredentialState_CREDENTIAL_STATE_ACTIVE:
		return "Active"
	case authv1.CredentialState_CREDENTIAL_STATE_DISABLED:
		return "Disabled"
	case authv1.CredentialState_CREDENTIAL_STATE_EXPIRED:
		return "Expired"
	}
	return "Unknown"
}

// clientView is an API client as a page shows it.
type clientView struct {
	*authv1.ApiClient
	StateName string
}

func viewClient(c *authv1.ApiClient) clientView {
	return clientView{c, credentialState(c.GetState())}
}

// clientsPage is the list of API clients.
type clientsPage struct {
	Clients []clientView
	Next    string
}

func (clientsPage) head() (string, string) { return "API Clients", "api-clients" }

func (v *visit) apiClients() error {
	res, err := v.web.services.clients.ListApiClients(v.ctx, &authv1.ListApiClientsRequest{PageSize: 50, PageToken: v.query("page")})
	if err != nil {
		return err
	}
	page := clientsPage{Next: res.GetNextPageToken()}
	for _, c := range res.GetApiClients() {
		page.Clients = append(page.Clients, viewClient(c))
	}
	return v.render("api-clients", page)
}

// clientFormPage makes or changes an API client.
type clientFormPage struct {
	Form   *form
	Scopes []grant
	Client *clientView // nil: a new one
}

func (p clientFormPage) head() (string, string) {
	if p.Client == nil {
		return "Add Client", "api-clients"
	}
	return p.Client.GetName(), "api-clients"
}

func (v *visit) newAPIClient() error {
	return v.render("api-client-new", clientFormPage{Form: newForm(), Scopes: clientScopes})
}

// checkGrants reads the boxes of a form, of which one must be ticked.
func checkGrants(f *form, name, noun string) []string {
	all := f.All(name)
	if len(all) == 0 {
		f.add(name, "Choose at least one "+noun+".")
	}
	return all
}

func (v *visit) createAPIClient() error {
	f := v.sent()
	req := &authv1.CreateApiClientRequest{
		Name: f.required("name", "A name"), Description: f.text("description"), Scopes: checkGrants(f, "scopes", "scope"),
	}
	if days, given := f.integer("expires", "The number of days", 1, 3650); given {
		n := int32(days)
		req.ExpiresAfterDays = &n
	}
	page := clientFormPage{Form: f, Scopes: clientScopes}
	if f.Failed() {
		return v.again("api-client-new", page)
	}
	res, err := v.web.services.clients.CreateApiClient(v.write("create"), req)
	if err != nil {
		if f.refuse(err, map[string]string{"expires_after_days": "expires"}) {
			return v.again("api-client-new", page)
		}
		return err
	}
	if res.GetClientSecret() == "" {
		return v.alreadyCreated("api-clients", "client", res.GetApiClient().GetName(), "/settings/api-clients/"+res.GetApiClient().GetId())
	}
	return v.render("secret", secretPage{
		Title: "Client created", Section: "api-clients", Name: res.GetApiClient().GetName(),
		IDLabel: "Client ID", ID: res.GetApiClient().GetId(), SecretLabel: "Client secret", Secret: res.GetClientSecret(),
		Curl: clientCurl(v.web.cfg.InterfaceA, res.GetApiClient().GetId(), res.GetClientSecret()), Back: "/settings/api-clients",
	})
}

// secretPage shows a secret, this once.
type secretPage struct {
	Title, Section, Name, IDLabel, ID, SecretLabel, Secret, Curl, Back string
}

func (p secretPage) head() (string, string) { return p.Title, p.Section }

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

func (p alreadyPage) head() (string, string) { return p.Title, p.Section }

// alreadyCreated says that a credential was made by the first of two equal forms.
func (v *visit) alreadyCreated(section, noun, name, path string) error {
	return v.render("already", alreadyPage{
		Title: "Already created", Section: section, Subject: name,
		Text: "This form was sent twice. The " + noun + " was made once, the first time, and its secret was shown in the first answer.",
		Lost: "If you have not copied the secret, rotate it: that makes a new one and shows it.",
		Next: path, Button: "Open the " + noun, Again: path + "/rotate", AgainButton: "Rotate the secret…",
	})
}

// alreadyRotated says that a secret was replaced by the first of two equal forms.
func (v *visit) alreadyRotated(section, name, path string) error {
	return v.render("already", alreadyPage{
		Title: "Already rotated", Section: section, Subject: name,
		Text: "This form was sent twice. The secret was rotated once, the first time, and the new one was shown in the first answer.",
		Lost: "If you have not copied it, rotate again: that makes another one and shows it.",
		Next: path, Button: "I have copied it", Again: path + "/rotate", AgainButton: "Rotate again…",
	})
}

func clientCurl(base, clientID, secret string) string {
	return "curl -X POST " + base + "/token \\\n  -H 'Content-Type: application/json' \\\n  -d '{\"client_id\":\"" + clientID + "\",\"client_secret\":\"" + secret + "\"}'"
}

func (v *visit) findClient() (clientView, error) {
	res, err := v.web.services.clients.GetApiClient(v.ctx, &authv1.GetApiClientRequest{Id: v.r.PathValue("id")})
	return viewClient(res.GetApiClient()), err
}

func (v *visit) apiClient() error {
	c, err := v.findClient()
	if err != nil {
		return err
	}
	f := newForm("name", c.GetName(), "description", c.GetDescription())
	f.values["scopes"] = c.GetScopes()
	if c.RateLimit != nil {
		f.values.Set("limit", strconv.Itoa(int(c.GetRateLimit())))
	}
	return v.render("api-client", clientFormPage{Form: f, Scopes: clientScopes, Client: &c})
}

func (v *visit) updateAPIClient() error {
	c, err := v.findClient()
	if err != nil {
		return err
	}
	f := v.sent()
	name, description := f.required("name", "A name"), f.text("description")
	limit, _ := f.integer("limit", "The limit", 1, 10000)
	rate := int32(limit)
	req := &authv1.UpdateApiClientRequest{Id: c.GetId(), Name: &name, Description: &description, Scopes: checkGrants(f, "scopes", "scope"), RateLimit: &rate}
	page := clientFormPage{Form: f, Scopes: clientScopes, Client: &c}
	if f.Failed() {
		return v.again("api-client", page)
	}
	if _, err := v.web.services.clients.UpdateApiClient(v.write("update"), req); err != nil {
		if f.refuse(err, map[string]string{"rate_limit": "limit"}) {
			return v.again("api-client", page)
		}
		return err
	}
	return v.back("/settings/api-clients/"+c.GetId(), "Saved.")
}

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
	Since  *timestamppb.Timestamp
	// Affected are the people who are.
	Affected affected
}

func (p confirmPage) head() (string, string) { return p.Title, p.Section }

// credentialConfirm describes an action on a credential: what is said is the same
// for API clients and API keys. ok is false where there is no such action.
func credentialConfirm(action, noun, what string) (p confirmPage, ok bool) {
	switch action {
	case "rotate":
		p = confirmPage{Title: "Rotate the secret", Button: "Rotate the secret", Danger: true, Effects: []string{
			"The present secret stops working at once: whatever uses it gets “invalid credentials” until it has the new one.",
			"Every access token that was issued to this " + noun + " is revoked within a second; requests with it are answered 401.",
			"The new secret is shown once, on the next page. Have whoever runs the integration ready to put it in place.",
		}}
	case "disable":
		p = confirmPage{Title: "Disable this " + noun, Button: "Disable", Danger: true, Effects: []string{
			"It gets no more access tokens, and those it has are revoked within a second.",
			what + " stops until you enable it again. The secret stays the same.",
		}}
	case "enable":
		p = confirmPage{Title: "Enable this " + noun, Button: "Enable", Effects: []string{
			"It gets access tokens again, with its present secret.",
		}}
	case "delete":
		p = confirmPage{Title: "Delete this " + noun, Button: "Delete for good", Danger: true, Effects: []string{
			"Its id and secret stop working at once and for good; its access tokens are revoked within a second.",
			what + " stops. This cannot be undone: a new " + noun + " has another id and another secret.",
		}}
	}
	return p, p.Title != ""
}

func (v *visit) confirmAPIClient() error {
	p, ok := credentialConfirm(v.r.PathValue("action"), "client", "The integration that uses it")
	if !ok {
		return fault.Missing("page")
	}
	c, err := v.findClient()
	if err != nil {
		return err
	}
	p.Section, p.Subject, p.Back, p.Action = "api-clients", c.GetName(), "/settings/api-clients/"+c.GetId(), v.r.URL.Path
	return v.render("confirm", p)
}

func (v *visit) changeAPIClient() error {
	s, client := v.web.services.clients, v.r.PathValue("id")
	path := "/settings/api-clients/" + client
	var err error
	switch v.r.PathValue("action") {
	case "rotate":
		res, err := s.RotateApiClientSecret(v.write("rotate"), &authv1.RotateApiClientSecretRequest{Id: client})
		if err != nil {
			return err
		}
		if res.GetClientSecret() == "" {
			return v.alreadyRotated("api-clients", res.GetApiClient().GetName(), path)
		}
		c := res.GetApiClient()
		return v.render("secret", secretPage{
			Title: "New secret", Section: "api-clients", Name: c.GetName(), IDLabel: "Client ID", ID: c.GetId(),
			SecretLabel: "Client secret", Secret: res.GetClientSecret(),
			Curl: clientCurl(v.web.cfg.InterfaceA, c.GetId(), res.GetClientSecret()), Back: path,
		})
	case "disable":
		if _, err = s.DisableApiClient(v.write("disable"), &authv1.DisableApiClientRequest{Id: client}); err == nil {
			return v.back(path, "The client is disabled. Its access tokens are revoked.")
		}
	case "enable":
		if _, err = s.EnableApiClient(v.write("enable"), &authv1.EnableApiClientRequest{Id: client}); err == nil {
			return v.back(path, "The client is enabled.")
		}
	case "delete":
		if _, err = s.DeleteApiClient(v.write("delete"), &authv1.DeleteApiClientRequest{Id: client}); err == nil {
			return v.back("/settings/api-clients", "The client is deleted.")
		}
	default:
		return fault.Missing("page")
	}
	return v.refused(path, err)
}
