package gatewaya

import (
	"mime"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/fault"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	edgeav1 "reservation.dev/proto/gen/reservation/edge/a/v1"
)

// tokens serves POST /token. It accepts the interface's JSON body and the client-credentials grant
// of RFC 6749, both with the credentials in the body or by HTTP Basic.
type tokens struct {
	edge   *edge.Edge
	client authv1.TokenServiceClient
}

func (t *tokens) serve(w http.ResponseWriter, r *http.Request, _ map[string]string) {
	w.Header().Set("Pragma", "no-cache") // RFC 6749, section 5.1
	read := jsonRequest
	if isForm(r) {
		read = formRequest
	}
	req, basic, err := read(r)
	if err == nil {
		err = t.issue(w, r, req)
	}
	if err != nil {
		f := fault.From(err)
		if basic {
			challengeBasic(w, f)
		}
		failToken(t.edge, w, r, f)
	}
}

// jsonRequest reads a JSON token request. basic reports whether the client sent its credentials by
// HTTP Basic; then the body can be empty.
func jsonRequest(r *http.Request) (req *authv1.IssueTokenRequest, basic bool, err error) {
	body, err := edge.ReadBody(r)
	if err != nil {
		return nil, false, err
	}
	user, err := basicOf(r)
	if err != nil {
		return nil, true, err
	}
	in := &edgeav1.TokenRequest{}
	if user == nil || len(body) > 0 {
		if err := edge.DecodeJSON(body, in); err != nil {
			return nil, user != nil, err
		}
	}
	req = &authv1.IssueTokenRequest{ClientId: in.GetClientId(), ClientSecret: in.GetClientSecret(), Scope: in.GetScope()}
	if user == nil {
		return req, false, nil
	}
	if differs(req.GetClientId(), user.id) || differs(req.GetClientSecret(), user.secret) {
		return nil, true, oauthInvalid("the credentials in the body differ from those of HTTP Basic; send them in one place")
	}
	req.ClientId, req.ClientSecret = user.id, user.secret
	return req, true, nil
}

// differs reports whether given is set and is not value.
func differs(given, value string) bool { return given != "" && given != value }

// challengeBasic sets WWW-Authenticate to HTTP Basic if f refuses the credentials
// (RFC 6749, section 5.2).
func challengeBasic(w http.ResponseWriter, f *fault.Error) {
	if f.Kind == fault.Unauthenticated {
		w.Header().Set("WWW-Authenticate", `Basic realm="reservation", charset="UTF-8"`)
	}
}

// basicCredentials are the user name and the password of HTTP Basic.
type basicCredentials struct{ id, secret string }

// basicOf reads the HTTP Basic credentials of a request, or returns nil if it has none. Clients
// form-encode both parts before they join them (RFC 6749, section 2.3.1).
func basicOf(r *http.Request) (*basicCredentials, error) {
	user, password, ok := r.BasicAuth()
	if !ok {
		return nil, nil
	}
	id, idErr := url.QueryUnescape(user)
	secret, secretErr := url.QueryUnescape(password)
	if idErr != nil || secretErr != nil {
		return nil, oauthInvalid("the HTTP Basic credentials are malformed")
	}
	return &basicCredentials{id: id, secret: secret}, nil
}

func isForm(r *http.Request) bool {
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return media == formType
}

// failToken responds to a token request with a fault: as RFC 6749 requires if the request is
// form-encoded, otherwise as Interface A does.
func failToken(e *edge.Edge, w http.ResponseWriter, r *http.Request, f *fault.Error) {
	w.Header().Set("Pragma", "no-cache")
	if isForm(r) {
		e.FailAs(w, r, f, appendOAuthFault)
		return
	}
	e.Fail(w, r, f)
}

// issue gets a token from the auth service and writes it to w.
func (t *tokens) issue(w http.ResponseWriter, r *http.Request, req *authv1.IssueTokenRequest) error {
	for _, field := range []struct{ name, value string }{
		{"client_id", req.GetClientId()}, {"client_secret", req.GetClientSecret()}, {"scope", req.GetScope()},
	} {
		if !utf8.ValidString(field.value) {
			return fault.InvalidFields(fault.Field{Field: field.name, Rule: "characters", Message: "must be valid UTF-8"})
		}
	}
	res, err := t.edge.IssueToken(w, r, t.client, req)
	if err != nil {
		return err
	}
	t.edge.Write(w, http.StatusOK, &edgeav1.TokenResponse{
		AccessToken: res.GetAccessToken(), TokenType: "Bearer", ExpiresIn: res.GetExpiresIn(), Scope: res.GetScope(),
	})
	return nil
}

// formRequest reads a form-encoded client-credentials request of RFC 6749. basic reports whether
// the client sent its credentials by HTTP Basic.
func formRequest(r *http.Request) (req *authv1.IssueTokenRequest, basic bool, err error) {
	form, err := readForm(r)
	if err != nil {
		return nil, false, err
	}
	req = &authv1.IssueTokenRequest{
		ClientId: form.Get("client_id"), ClientSecret: form.Get("client_secret"), Scope: form.Get("scope"),
	}
	user, err := basicOf(r)
	if user == nil {
		return req, err != nil, err
	}
	if req.GetClientSecret() != "" {
		return nil, true, oauthInvalid("the form repeats the client_secret of HTTP Basic; send it in one place")
	}
	if differs(req.GetClientId(), user.id) {
		return nil, true, oauthInvalid("the client_id in the form differs from the one of HTTP Basic")
	}
	req.ClientId, req.ClientSecret = user.id, user.secret
	return req, true, nil
}

// readForm reads the form of a client-credentials request.
func readForm(r *http.Request) (url.Values, error) {
	body, err := edge.ReadBody(r)
	if err != nil {
		return nil, err
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, oauthInvalid("the form is malformed")
	}
	for name, values := range form {
		if len(values) > 1 { // RFC 6749, section 3.2
			return nil, oauthInvalid("the form contains a parameter more than once: " + printable(name))
		}
	}
	switch form.Get("grant_type") {
	case "client_credentials":
		return form, nil
	case "":
		return nil, fault.InvalidFields(fault.Field{Field: "grant_type", Rule: "required", Message: "is required"})
	}
	return nil, fault.New(fault.Invalid, reasonUnsupportedGrant, "the grant_type must be client_credentials")
}

const (
	reasonUnsupportedGrant = "UNSUPPORTED_GRANT_TYPE"
	reasonInvalidScope     = "INVALID_SCOPE"
)

func oauthInvalid(message string) *fault.Error {
	return fault.New(fault.Invalid, fault.ReasonInvalidParameter, message)
}

// printable cuts a caller's text to a readable length and makes it valid UTF-8.
func printable(s string) string {
	if len(s) > 40 {
		s = s[:40] + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
