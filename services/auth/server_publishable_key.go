package auth

import (
	"context"
	"errors"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/scopes"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// publishableThing begins the actions in the audit log.
const publishableThing = "publishable_key"

// CreatePublishableKey implements PublishableKeyService.
func (s *Server) CreatePublishableKey(ctx context.Context, req *authv1.CreatePublishableKeyRequest) (*authv1.CreatePublishableKeyResponse, error) {
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return nil, err
	}
	fields, err := publishableFields{name: &req.Name, origins: &req.Origins}.checked()
	if err != nil {
		return nil, err
	}
	resp := &authv1.CreatePublishableKeyResponse{}
	return idem.Write(ctx, s.store, company, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		now := s.instant()
		k := PublishableKey{
			Company: company, ID: id.PublishableKey(inModeOf(company, s.newID())), Name: *fields.name, Origins: *fields.origins,
			Generation: 1, Version: 1, CreatedAt: now, UpdatedAt: now,
		}
		resp.PublishableKey = publishableMessage(k)
		return s.addPublishableKey(ctx, tx, k)
	})
}

// addPublishableKey stores a new key, unless the company has too many.
func (s *Server) addPublishableKey(ctx context.Context, tx *pg.Tx, k PublishableKey) error {
	if _, err := s.store.lockCompany(ctx, tx, k.Company); err != nil {
		return err
	}
	n, err := s.store.countPublishableKeys(ctx, tx, k.Company)
	if err != nil {
		return err
	}
	if n >= maxPublishableKeys {
		return tooManyKeys()
	}
	return errors.Join(
		s.store.insertPublishableKey(ctx, tx, k),
		s.store.audit(ctx, tx, k.Company, k.CreatedAt, rpc.Caller(ctx), publishableThing+".create", k.ID.String(), withoutEmpty(k.facts())...))
}

// GetPublishableKey implements PublishableKeyService.
func (s *Server) GetPublishableKey(ctx context.Context, req *authv1.GetPublishableKeyRequest) (*authv1.GetPublishableKeyResponse, error) {
	company, key, err := publishableKeyOf(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	k, err := s.store.publishableKey(ctx, company, key)
	if err != nil {
		return nil, err
	}
	return &authv1.GetPublishableKeyResponse{PublishableKey: publishableMessage(k)}, nil
}

// ListPublishableKeys implements PublishableKeyService.
func (s *Server) ListPublishableKeys(ctx context.Context, _ *authv1.ListPublishableKeysRequest) (*authv1.ListPublishableKeysResponse, error) {
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return nil, err
	}
	list, err := s.store.publishableKeys(ctx, company)
	if err != nil {
		return nil, err
	}
	resp := &authv1.ListPublishableKeysResponse{}
	for _, k := range list {
		resp.PublishableKeys = append(resp.PublishableKeys, publishableMessage(k))
	}
	return resp, nil
}

// UpdatePublishableKey implements PublishableKeyService.
func (s *Server) UpdatePublishableKey(ctx context.Context, req *authv1.UpdatePublishableKeyRequest) (*authv1.UpdatePublishableKeyResponse, error) {
	company, key, err := publishableKeyOf(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	fields := publishableFields{name: req.Name, enabled: req.Enabled}
	if req.GetOrigins() != nil {
		fields.origins = &req.Origins.Values
	}
	if fields, err = fields.checked(); err != nil {
		return nil, err
	}
	resp := &authv1.UpdatePublishableKeyResponse{}
	return idem.Write(ctx, s.store, company, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		k, err := s.changePublishableKey(ctx, tx, company, key, "update", func(k *PublishableKey, now time.Time) (bool, error) {
			if req.ExpectedVersion != nil && req.GetExpectedVersion() != k.Version {
				return false, fault.Stale("publishable key", k.Version)
			}
			return k.update(fields, now), nil
		})
		resp.PublishableKey = publishableMessage(k)
		return err
	})
}

// DeletePublishableKey implements PublishableKeyService.
func (s *Server) DeletePublishableKey(ctx context.Context, req *authv1.DeletePublishableKeyRequest) (*authv1.DeletePublishableKeyResponse, error) {
	company, key, err := publishableKeyOf(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	return idem.Write(ctx, s.store, company, req, &authv1.DeletePublishableKeyResponse{}, func(ctx context.Context, tx *pg.Tx) error {
		_, err := s.changePublishableKey(ctx, tx, company, key, "delete", func(k *PublishableKey, now time.Time) (bool, error) {
			k.remove(now)
			return true, nil
		})
		return err
	})
}

// changePublishableKey locks a key, applies decide, and saves the key if decide reports a change. It
// publishes a raised generation.
func (s *Server) changePublishableKey(
	ctx context.Context, tx *pg.Tx, company id.Company, key id.PublishableKey, verb string,
	decide func(k *PublishableKey, now time.Time) (bool, error),
) (PublishableKey, error) {
	k, err := s.store.lockPublishableKey(ctx, tx, company, key)
	if err != nil {
		return k, err
	}
	before, now := k, s.instant()
	if changed, err := decide(&k, now); err != nil || !changed {
		return k, err
	}
	k.Version++
	k.UpdatedAt = now
	err = errors.Join(
		s.store.updatePublishableKey(ctx, tx, k),
		s.store.audit(ctx, tx, company, now, rpc.Caller(ctx), publishableThing+"."+verb, k.ID.String(), k.changes(before)...))
	if err == nil && k.Generation != before.Generation {
		err = s.outbox.Append(ctx, tx, revoked(k.ID.String(), k.Generation))
	}
	return k, err
}

// publishableKeyOf returns the company of the call and the key that a request names.
func publishableKeyOf(ctx context.Context, subject string) (company id.Company, key id.PublishableKey, err error) {
	if company, err = rpc.Tenant(ctx); err != nil {
		return company, key, err
	}
	if key, err = id.Parse[id.PublishableKey](subject); err != nil {
		return company, key, fault.Missing("publishable key")
	}
	return company, key, nil
}

// ExchangePublishableKey implements TokenService.
func (s *Server) ExchangePublishableKey(ctx context.Context, req *authv1.ExchangePublishableKeyRequest) (*authv1.ExchangePublishableKeyResponse, error) {
	key, err := id.Parse[id.PublishableKey](req.GetKey())
	if err != nil {
		return nil, unknownPublishableKey()
	}
	k, err := s.store.anyPublishableKey(ctx, key)
	if fault.Is(err, fault.NotFound) || (err == nil && !k.usable()) {
		return nil, unknownPublishableKey()
	}
	if err != nil {
		return nil, err
	}
	now := s.instant()
	claims := token.Claims{
		Subject: k.ID.String(), Kind: token.KindPublishable, Company: k.Company, Scopes: scopes.Publishable(), Generation: k.Generation,
		IssuedAt: now.Truncate(time.Second), ID: s.newID().String(), ExpiresAt: now.Add(publishableLifetime),
	}
	if err := s.addCompany(ctx, &claims); err != nil {
		return nil, err
	}
	raw, err := s.keys.sign(claims)
	if err != nil {
		return nil, err
	}
	return &authv1.ExchangePublishableKeyResponse{
		AccessToken: raw, ExpiresIn: int32(publishableLifetime / time.Second), Origins: k.Origins,
	}, nil
}

func publishableMessage(k PublishableKey) *authv1.PublishableKey {
	return &authv1.PublishableKey{
		Id: k.ID.String(), Name: k.Name, Origins: k.Origins, Enabled: k.DisabledAt == nil,
		CreatedAt: timestamppb.New(k.CreatedAt), UpdatedAt: timestamppb.New(k.UpdatedAt), Version: k.Version,
	}
}
