package gatewayb

import (
	"io"
	"net/http"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/fault"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
)

// tokens answers POST /auth/token.
type tokens struct {
	edge    *edge.Edge
	client  authv1.TokenServiceClient
	proxies edge.Proxies
	limits  *edge.Limits
}

func (t *tokens) serve(w http.ResponseWriter, r *http.Request, _ map[string]string) {
	if err := t.issue(w, r); err != nil {
		t.edge.Fail(w, r, fault.From(err))
	}
}

// issue counts a request whose credentials are right: wrong ones are throttled
// where they are checked, and must not use up the key's rightful owner's requests.
func (t *tokens) issue(w http.ResponseWriter, r *http.Request) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return edge.BodyFault(err)
	}
	req := &edgebv1.TokenRequest{}
	if err := edge.DecodeJSON(body, req); err != nil {
		return err
	}
	res, err := t.client.IssueToken(r.Context(), &authv1.IssueTokenRequest{
		ClientId: req.GetApiKey(), ClientSecret: req.GetApiSecret(), ClientAddress: t.proxies.ClientAddress(r), Kind: authv1.CredentialKind_CREDENTIAL_KIND_API_KEY,
	})
	if err != nil {
		return named(err, map[string]string{"client_id": "apiKey", "client_secret": "apiSecret"})
	}
	if err := t.limits.Take(r.Context(), w.Header(), req.GetApiKey(), int(res.GetRateLimit())); err != nil {
		return err
	}
	t.edge.Write(w, http.StatusOK, &edgebv1.TokenResponse{Token: res.GetAccessToken(), ExpiresIn: res.GetExpiresIn()})
	return nil
}
