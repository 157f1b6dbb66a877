package admin

import (
	"strconv"

	"reservation.dev/platform/fault"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// everything is the permission that stands for all.
const everything = "*"

// keyPermissions are the permissions of Interface B.
var keyPermissions = []grant{
	{everything, "Everything", "All of the permissions below, and those that are added later."},
	{"customers:read", "Read customers", "List customers and see each one's details."},
	{"customers:write", "Change customers", "Create, change and delete customers."},
	{"events:read", "Read events", "List events with their dates, prices and places left."},
	{"events:write", "Change events", "Create, change, cancel and delete events and their dates."},
	{"registrations:read", "Read registrations", "See who has booked an event."},
	{"registrations:write", "Book and cancel", "Book places for customers, and cancel bookings."},
	{"passes:read", "Read pass types", "List the passes that you sell."},
	{"passes:write", "Change pass types", "Create and change the passes that you sell."},
	{"customer-passes:read", "Read customers' passes", "See which passes customers hold, and how much is left of them."},
	{"customer-passes:write", "Assign and change customers' passes", "Assign passes to customers, pause and adjust them."},
}

// keyView is an API key as a page shows it.
type keyView struct {
	*authv1.ApiKey
	StateName string
}

func viewKey(k *authv1.ApiKey) keyView { return keyView{k, credentialState(k.GetState())} }

// keysPage is the list of API keys.
type keysPage struct {
	Keys []keyView
	Next string
}

func (keysPage) head() (string, string) { return "API Keys", "api-keys" }

func (v *visit) apiKeys() error {
	res, err := v.web.services.keys.ListApiKeys(v.ctx, &authv1.ListApiKeysRequest{PageSize: 50, PageToken: v.query("page")})
	if err != nil {
		return err
	}
	page := keysPage{Next: res.GetNextPageToken()}
	for _, k := range res.GetApiKeys() {
		page.Keys = append(page.Keys, viewKey(k))
	}
	return v.render("api-keys", page)
}

// keyFormPage makes or changes an API key.
type keyFormPage struct {
	Form        *form
	Permissions []grant
	Key         *keyView // nil: a new one
}

func (p keyFormPage) head() (string, string) {
	if p.Key == nil {
		return "Add Key", "api-keys"
	}
	return p.Key.GetName(), "api-keys"
}

func (v *visit) newAPIKey() error {
	return v.render("api-key-new", keyFormPage{Form: newForm(), Permissions: keyPermissions})
}

var keyFields = map[string]string{"expires_after_days": "expires", "rate_limit": "limit"}

func (v *visit) createAPIKey() error {
	f := v.sent()
	req := &authv1.CreateApiKeyRequest{
		Name: f.required("name", "A name"), Description: f.text("description"), Permissions: checkGrants(f, "permissions", "permission"),
	}
	if days, given := f.integer("expires", "The number of days", 1, 3650); given {
		n := int32(days)
		req.ExpiresAfterDays = &n
	}
	if limit, given := f.integer("limit", "The limit", 1, 10000); given {
		n := int32(limit)
		req.RateLimit = &n
	}
	page := keyFormPage{Form: f, Permissions: keyPermissions}
	if f.Failed() {
		return v.again("api-key-new", page)
	}
	res, err := v.web.services.keys.CreateApiKey(v.write("create"), req)
	if err != nil {
		if f.refuse(err, keyFields) {
			return v.again("api-key-new", page)
		}
		return err
	}
	if res.GetApiSecret() == "" {
		return v.alreadyCreated("api-keys", "key", res.GetApiKey().GetName(), "/settings/api-keys/"+res.GetApiKey().GetId())
	}
	return v.render("secret", v.keySecret("Key created", res.GetApiKey(), res.GetApiSecret(), "/settings/api-keys"))
}

// keySecret is the page that shows an API key's secret, this once.
func (v *visit) keySecret(title string, k *authv1.ApiKey, secret, back string) secretPage {
	return secretPage{
		Title: title, Section: "api-keys", Name: k.GetName(), IDLabel: "API key", ID: k.GetId(), SecretLabel: "API secret", Secret: secret,
		Curl: "curl -X POST " + v.web.cfg.InterfaceB + "/auth/token \\\n  -H 'Content-Type: application/json' \\\n  -d '{\"apiKey\":\"" +
			k.GetId() + "\",\"apiSecret\":\"" + secret + "\"}'",
		Back: back,
	}
}

func (v *visit) findKey() (keyView, error) {
	res, err := v.web.services.keys.GetApiKey(v.ctx, &authv1.GetApiKeyRequest{Id: v.r.PathValue("id")})
	return viewKey(res.GetApiKey()), err
}

func (v *visit) apiKey() error {
	k, err := v.findKey()
	if err != nil {
		return err
	}
	f := newForm("name", k.GetName(), "description", k.GetDescription())
	f.values["permissions"] = k.GetPermissions()
	if k.RateLimit != nil {
		f.values.Set("limit", strconv.Itoa(int(k.GetRateLimit())))
	}
	return v.render("api-key", keyFormPage{Form: f, Permissions: keyPermissions, Key: &k})
}

func (v *visit) updateAPIKey() error {
	k, err := v.findKey()
	if err != nil {
		return err
	}
	f := v.sent()
	name, description := f.required("name", "A name"), f.text("description")
	limit, _ := f.integer("limit", "The limit", 1, 10000)
	rate := int32(limit)
	req := &authv1.UpdateApiKeyRequest{Id: k.GetId(), Name: &name, Description: &description, Permissions: checkGrants(f, "permissions", "permission"), RateLimit: &rate}
	page := keyFormPage{Form: f, Permissions: keyPermissions, Key: &k}
	if f.Failed() {
		return v.again("api-key", page)
	}
	if _, err := v.web.services.keys.UpdateApiKey(v.write("update"), req); err != nil {
		if f.refuse(err, keyFields) {
			return v.again("api-key", page)
		}
		return err
	}
	return v.back("/settings/api-keys/"+k.GetId(), "Saved.")
}

func (v *visit) confirmAPIKey() error {
	p, ok := credentialConfirm(v.r.PathValue("action"), "key", "The program that uses it")
	if !ok {
		return fault.Missing("page")
	}
	k, err := v.findKey()
	if err != nil {
		return err
	}
	p.Section, p.Subject, p.Back, p.Action = "api-keys", k.GetName(), "/settings/api-keys/"+k.GetId(), v.r.URL.Path
	return v.render("confirm", p)
}

func (v *visit) changeAPIKey() error {
	s, key := v.web.services.keys, v.r.PathValue("id")
	path := "/settings/api-keys/" + key
	var err error
	switch v.r.PathValue("action") {
	case "rotate":
		res, err := s.RotateApiKeySecret(v.write("rotate"), &authv1.RotateApiKeySecretRequest{Id: key})
		if err != nil {
			return err
		}
		if res.GetApiSecret() == "" {
			return v.alreadyRotated("api-keys", res.GetApiKey().GetName(), path)
		}
		return v.render("secret", v.keySecret("New secret", res.GetApiKey(), res.GetApiSecret(), path))
	case "disable":
		if _, err = s.DisableApiKey(v.write("disable"), &authv1.DisableApiKeyRequest{Id: key}); err == nil {
			return v.back(path, "The key is disabled. Its access tokens are revoked.")
		}
	case "enable":
		if _, err = s.EnableApiKey(v.write("enable"), &authv1.EnableApiKeyRequest{Id: key}); err == nil {
			return v.back(path, "The key is enabled.")
		}
	case "delete":
		if _, err = s.DeleteApiKey(v.write("delete"), &authv1.DeleteApiKeyRequest{Id: key}); err == nil {
			return v.back("/settings/api-keys", "The key is deleted.")
		}
	default:
		return fault.Missing("page")
	}
	return v.refused(path, err)
}
