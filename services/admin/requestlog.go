package admin

import (
	"slices"
	"strconv"
	"strings"

	"reservation.dev/platform/enum"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// requestsPath is the path of the request log.
const requestsPath = "/settings/requests"

// requestView is a request of the log as a page shows it.
type requestView struct {
	*authv1.LoggedRequest
	names map[string]string // of credentials
}

// Page is the path of the request's page.
func (v requestView) Page() string { return requestsPath + "/" + v.GetId() }

// Status returns the status of the response as a tag, with the error code.
func (v requestView) Status() stateTag {
	class := "good"
	if v.GetStatus() >= 500 {
		class = "bad"
	} else if v.GetStatus() >= 400 {
		class = "warn"
	}
	return stateTag{class, literal(strings.TrimSpace(strconv.Itoa(int(v.GetStatus())) + " " + v.GetErrorCode()))}
}

// Interface is the name of the interface.
func (v requestView) Interface() *message {
	return msg("settings.requests.interfaces." + enum.Name(v.LoggedRequest.GetInterface()))
}

// Took prints the duration of the request.
func (v requestView) Took() *message {
	return printed(func(x *texts) string { return x.milliseconds(v.GetDurationMicroseconds()) })
}

// Credential is the name of the credential, or its identifier.
func (v requestView) Credential() string {
	if name := v.names[v.GetCredentialId()]; name != "" {
		return name
	}
	return v.GetCredentialId()
}

// CredentialPath is the path of the credential's page.
func (v requestView) CredentialPath() string {
	prefix, _, _ := strings.Cut(v.GetCredentialId(), "_")
	path := map[string]string{"m2m": apiClientKind().Path, "key": apiKeyKind().Path}[prefix]
	if path == "" {
		path = publishablePath
	}
	return path + "/" + v.GetCredentialId()
}

// Key says whether the request had an Idempotency-Key, and whether the response was a replay.
func (v requestView) Key() *message {
	switch {
	case v.GetReplayed():
		return msg("settings.requests.key_replayed")
	case v.GetIdempotencyKey():
		return msg("settings.requests.key_sent")
	}
	return msg("settings.requests.key_none")
}

// requestViews returns requests as a page shows them. names are those of the credentials.
func requestViews(list []*authv1.LoggedRequest, names map[string]string) []requestView {
	return views(list, func(v *authv1.LoggedRequest) requestView { return requestView{v, names} })
}

// requestsPage is a page of the request log.
type requestsPage struct {
	Requests                                 []requestView
	Credentials, Interfaces, Methods, States []option
	Form                                     *form // the filters
	Next                                     string
}

func (requestsPage) head() (*message, string) { return msg("settings.requests.title"), "requests" }

// requestFilters are the parameters of the request log.
var requestFilters = []string{"credential", "interface", "method", "status", "since", "until", "request"}

// requestMethods are the methods of the interfaces.
var requestMethods = []string{"GET", "POST", "PUT", "PATCH", "DELETE"}

// requestStates are the ranges of status by which the log can be filtered.
var requestStates = []struct {
	name            string
	lowest, highest int32
}{{"2xx", 200, 299}, {"error", 400, 599}, {"4xx", 400, 499}, {"5xx", 500, 599}}

// requestLog shows a page of the request log.
func (r *request) requestLog() error {
	of, _ := enum.Parse[authv1.PublicInterface](r.query("interface"))
	list := &authv1.ListRequestsRequest{
		PageSize: 50, PageToken: r.query("page"), CredentialId: r.query("credential"), Method: r.query("method"),
		Interface: of, Since: r.day("since", 0), Until: r.day("until", 1), RequestId: r.query("request"),
	}
	for _, state := range requestStates {
		if r.query("status") == state.name {
			list.MinStatus, list.MaxStatus = state.lowest, state.highest
		}
	}
	res, err := r.services.requests.ListRequests(r.ctx, list)
	if err != nil {
		return r.refused(requestsPath, err)
	}
	names, credentials, err := r.credentialNames()
	if err != nil {
		return err
	}
	page := requestsPage{
		Requests: requestViews(res.GetRequests(), names), Next: r.with("page", res.GetNextPageToken()), Form: r.filterForm(requestFilters...),
		Credentials: append([]option{{"", r.text("settings.requests.all_credentials")}}, credentials...),
		Interfaces:  []option{{"", r.text("settings.requests.all_interfaces")}}, Methods: []option{{"", r.text("settings.requests.all_methods")}},
		States: []option{{"", r.text("settings.requests.all_states")}},
	}
	if chosen := list.GetCredentialId(); chosen != "" && names[chosen] == "" { // it was deleted
		page.Credentials = append(page.Credentials, option{chosen, chosen})
	}
	for _, name := range enum.Names[authv1.PublicInterface]() {
		page.Interfaces = append(page.Interfaces, option{name, r.text("settings.requests.interfaces." + name)})
	}
	for _, method := range requestMethods {
		page.Methods = append(page.Methods, option{method, method})
	}
	for _, state := range requestStates {
		page.States = append(page.States, option{state.name, r.text("settings.requests.states." + state.name)})
	}
	return r.render("requests", page)
}

// mostCredentials limits how many credentials of each kind the filter lists.
const mostCredentials = 100

// credentialNames returns the names of the credentials that call the interfaces, by identifier and as
// options.
func (r *request) credentialNames() (map[string]string, []option, error) {
	clients, err := r.services.clients.ListApiClients(r.ctx, &authv1.ListApiClientsRequest{PageSize: mostCredentials})
	if err != nil {
		return nil, nil, err
	}
	keys, err := r.services.keys.ListApiKeys(r.ctx, &authv1.ListApiKeysRequest{PageSize: mostCredentials})
	if err != nil {
		return nil, nil, err
	}
	publishable, err := r.services.publishable.ListPublishableKeys(r.ctx, &authv1.ListPublishableKeysRequest{})
	if err != nil {
		return nil, nil, err
	}
	options := slices.Concat(
		views(clients.GetApiClients(), func(c *authv1.ApiClient) option { return option{c.GetId(), c.GetName()} }),
		views(keys.GetApiKeys(), func(k *authv1.ApiKey) option { return option{k.GetId(), k.GetName()} }),
		views(publishable.GetPublishableKeys(), func(k *authv1.PublishableKey) option { return option{k.GetId(), k.GetName()} }))
	names := make(map[string]string, len(options))
	for _, o := range options {
		names[o.Value] = o.Text
	}
	return names, options, nil
}

// requestPage is one request of the log.
type requestPage struct{ Request requestView }

func (p requestPage) head() (*message, string) {
	return literal(p.Request.GetMethod() + " " + p.Request.GetPath()), "requests"
}

func (r *request) findRequest() (requestPage, error) {
	res, err := r.services.requests.GetRequest(r.ctx, &authv1.GetRequestRequest{Id: r.path("id")})
	return requestPage{requestView{LoggedRequest: res.GetRequest()}}, err
}

// recentRequests are the latest requests of a credential, on its page.
type recentRequests struct {
	Requests []requestView
	All      string // the address of the log with all of them
}

// recentRequests returns the latest requests of a credential. It returns nil if they cannot be read,
// because the credential's page is needed even then.
func (r *request) recentRequests(credential string) *recentRequests {
	res, err := r.services.requests.ListRequests(r.ctx, &authv1.ListRequestsRequest{CredentialId: credential, PageSize: 20})
	if err != nil {
		r.web.log.WarnContext(r.ctx, "the latest requests of a credential cannot be read", "credential", credential, "error", err.Error())
		return nil
	}
	return &recentRequests{Requests: requestViews(res.GetRequests(), nil), All: requestsPath + "?credential=" + credential}
}
