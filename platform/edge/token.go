package edge

import (
	"io"
	"net/http"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// IssueToken gets an access token for the credentials in req, and counts the request against the
// credential's limit. It sets the kind of the credentials to that of the interface. Requests with
// wrong credentials are not counted, because they must not use up the limit of the credential's
// owner. The auth service throttles them instead.
func (e *Edge) IssueToken(w http.ResponseWriter, r *http.Request, auth authv1.TokenServiceClient, req *authv1.IssueTokenRequest) (*authv1.IssueTokenResponse, error) {
	exchangeOf(r.Context()).caller.claim(req.GetClientId())
	req.ClientAddress = e.opts.Proxies.ClientAddress(r)
	req.Kind = authv1.CredentialKind_CREDENTIAL_KIND_API_CLIENT
	if e.api.Kind == token.KindKey {
		req.Kind = authv1.CredentialKind_CREDENTIAL_KIND_API_KEY
	}
	res, err := auth.IssueToken(r.Context(), req)
	if err != nil {
		return nil, err
	}
	announceMode(w.Header(), isTestCredential(req.GetClientId()))
	return res, e.opts.Count(r.Context(), w.Header(), req.GetClientId(), int(res.GetRateLimit()))
}

// ReadBody reads the body of a request, whose size the edge limits.
func ReadBody(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, bodyFault(err)
	}
	return body, nil
}

// ReadJSON reads the body of a request into m, an empty message. See DecodeJSON.
func ReadJSON(r *http.Request, m proto.Message) error {
	body, err := ReadBody(r)
	if err != nil {
		return err
	}
	return DecodeJSON(body, m)
}
