package auth

import (
	"context"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// RotateSigningKey implements SigningKeyService.
func (s *Server) RotateSigningKey(ctx context.Context, req *authv1.RotateSigningKeyRequest) (*authv1.RotateSigningKeyResponse, error) {
	action := "signing_key.rotate"
	if req.GetRevoke() {
		action = "signing_key.revoke"
	}
	kid, err := s.keys.rotate(ctx, req.GetRevoke(), func(ctx context.Context, tx *pg.Tx, kid string) error {
		return s.store.audit(ctx, tx, id.Company{}, s.instant(), rpc.Caller(ctx), action, kid)
	})
	if err != nil {
		return nil, err
	}
	now := s.now()
	active, err := s.keys.active(now)
	if err != nil {
		return nil, err
	}
	for _, k := range s.keys.live() {
		if k.KID == kid {
			return &authv1.RotateSigningKeyResponse{SigningKey: keyMessage(k, now, active.KID)}, nil
		}
	}
	return nil, fault.Missing("signing key") // another replica has revoked it
}

// ListSigningKeys implements SigningKeyService.
func (s *Server) ListSigningKeys(ctx context.Context, _ *authv1.ListSigningKeysRequest) (*authv1.ListSigningKeysResponse, error) {
	if err := s.keys.reload(ctx); err != nil {
		return nil, err
	}
	now := s.now()
	active, err := s.keys.active(now)
	if err != nil {
		return nil, err
	}
	resp := &authv1.ListSigningKeysResponse{}
	for _, k := range s.keys.live() {
		resp.SigningKeys = append(resp.SigningKeys, keyMessage(k, now, active.KID))
	}
	return resp, nil
}

// GetJwks implements TokenService.
func (s *Server) GetJwks(context.Context, *authv1.GetJwksRequest) (*authv1.GetJwksResponse, error) {
	resp := &authv1.GetJwksResponse{}
	for _, k := range s.keys.live() {
		jwk := token.NewJWK(k.KID, k.Public)
		resp.Keys = append(resp.Keys, &authv1.JsonWebKey{Kid: jwk.Kid, Kty: jwk.Kty, Crv: jwk.Crv, X: jwk.X, Alg: jwk.Alg, Use: jwk.Use})
	}
	return resp, nil
}
