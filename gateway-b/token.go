package gatewayb

import (
	"net/http"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/fault"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
)

// tokens serves POST /auth/token.
type tokens struct {
	edge   *edge.Edge
	client authv1.TokenServiceClient
}

func (t *tokens) serve(w http.ResponseWriter, r *http.Request, _ map[string]string) {
	if err := t.issue(w, r); err != nil {
		t.edge.Fail(w, r, fault.From(err))
	}
}

func (t *tokens) issue(w http.ResponseWriter, r *http.Request) error {
	req := &edgebv1.TokenRequest{}
	if err := edge.ReadJSON(r, req); err != nil {
		return err
	}
	res, err := t.edge.IssueToken(w, r, t.client, &authv1.IssueTokenRequest{ClientId: req.GetApiKey(), ClientSecret: req.GetApiSecret()})
	if err != nil {
		return err
	}
	t.edge.Write(w, http.StatusOK, &edgebv1.TokenResponse{Token: res.GetAccessToken(), ExpiresIn: res.GetExpiresIn()})
	return nil
}
