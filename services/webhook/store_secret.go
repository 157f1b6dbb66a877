package webhook

import (
	"context"
	"slices"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/seal"
	"reservation.dev/services/webhook/message"
)

const (
	addSecretSQL = `insert into endpoint_secrets (company_id, endpoint_id, id, sealed, created_at) values ($1, $2, $3, $4, $5)`

	secretsSQL = `select id, sealed, created_at, expires_at from endpoint_secrets where company_id = $1 and endpoint_id = $2
		order by created_at desc, id desc`

	overlapSQL = `select coalesce(max(expires_at), $3) from endpoint_secrets where company_id = $1 and endpoint_id = $2 and expires_at > $3`

	// Only the newest secret stays valid for the overlap; an older one ends now.
	retireSecretsSQL = `update endpoint_secrets set expires_at = case when expires_at is null then $4 else least(expires_at, $3) end
		where company_id = $1 and endpoint_id = $2 and (expires_at is null or expires_at > $3)`

	touchEndpointSQL = `update endpoints set version = version + 1, updated_at = $3 where company_id = $1 and id = $2`
)

func (s *store) addSecret(ctx context.Context, tx *pg.Tx, company id.Company, endpoint id.WebhookEndpoint, secret message.Secret) error {
	_, err := tx.Exec(ctx, addSecretSQL, company, endpoint, secret.ID, sealSecret(s.sealer, company, endpoint, secret), secret.CreatedAt)
	return err
}

// secretRow is a stored secret.
type secretRow struct {
	ID        id.UUID    `db:"id"`
	Sealed    []byte     `db:"sealed"`
	CreatedAt time.Time  `db:"created_at"`
	ExpiresAt *time.Time `db:"expires_at"`
}

func (s *store) open(company id.Company, endpoint id.WebhookEndpoint, r secretRow) (message.Secret, error) {
	key, err := s.sealer.Open(r.Sealed, secretContext(company, endpoint, r.ID))
	out := message.Secret{ID: r.ID, Key: key, CreatedAt: r.CreatedAt}
	if r.ExpiresAt != nil {
		out.ExpiresAt = *r.ExpiresAt
	}
	return out, err
}

// secrets returns all stored secrets of an endpoint, newest first.
func (s *store) secrets(ctx context.Context, company id.Company, endpoint id.WebhookEndpoint) ([]message.Secret, error) {
	rows, err := pg.Rows[secretRow](ctx, s.DB, pg.For(company), secretsSQL, company, endpoint)
	if err != nil {
		return nil, s.Fault(err)
	}
	return s.openAll(company, endpoint, rows)
}

// openAll decrypts stored secrets of an endpoint.
func (s *store) openAll(company id.Company, endpoint id.WebhookEndpoint, rows []secretRow) (out []message.Secret, err error) {
	out = make([]message.Secret, len(rows))
	for i, r := range rows {
		if out[i], err = s.open(company, endpoint, r); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// refuseOverlap refuses a rotation while the previous secret of a locked endpoint is valid, because
// receivers may still use it, and a rotation would end it.
func (s *store) refuseOverlap(ctx context.Context, tx *pg.Tx, company id.Company, endpoint id.WebhookEndpoint, now time.Time) error {
	var ends time.Time
	if err := tx.QueryRow(ctx, overlapSQL, company, endpoint, now).Scan(&ends); err != nil || !ends.After(now) {
		return err
	}
	return fault.SecretRotated(ends)
}

// rotateSecret adds a secret, and sets when the previous one ends.
func (s *store) rotateSecret(ctx context.Context, tx *pg.Tx, company id.Company, endpoint id.WebhookEndpoint, secret message.Secret) error {
	at := secret.CreatedAt
	if _, err := tx.Exec(ctx, retireSecretsSQL, company, endpoint, at, at.Add(message.RotationOverlap)); err != nil {
		return err
	}
	if err := s.addSecret(ctx, tx, company, endpoint, secret); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, touchEndpointSQL, company, endpoint, at)
	return err
}

// secretContext binds an encrypted key to its row: it cannot be decrypted in another row.
func secretContext(company id.Company, endpoint id.WebhookEndpoint, secret id.UUID) []byte {
	return slices.Concat([]byte("webhook secret "), company[:], endpoint[:], secret[:])
}

// sealSecret encrypts a key for its row.
func sealSecret(s *seal.Sealer, company id.Company, endpoint id.WebhookEndpoint, secret message.Secret) []byte {
	return s.Seal(secret.Key, secretContext(company, endpoint, secret.ID))
}

const (
	allSecretsSQL = `select company_id, endpoint_id, id, sealed, created_at, expires_at from endpoint_secrets`

	resealSQL = `update endpoint_secrets set sealed = $5 where company_id = $1 and endpoint_id = $2 and id = $3 and sealed = $4`
)

// reseal re-encrypts the secrets that are not encrypted with the first master key, so that an older
// key can be removed.
func (s *store) reseal(ctx context.Context) error {
	type row struct {
		secretRow
		CompanyID  id.Company         `db:"company_id"`
		EndpointID id.WebhookEndpoint `db:"endpoint_id"`
	}
	rows, err := pg.Rows[row](ctx, s.DB, pg.AllCompanies(), allSecretsSQL)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if !s.sealer.IsStale(r.Sealed) {
			continue
		}
		secret, err := s.open(r.CompanyID, r.EndpointID, r.secretRow)
		if err != nil {
			return err
		}
		err = s.DB.InTx(ctx, pg.For(r.CompanyID), func(ctx context.Context, tx *pg.Tx) error {
			_, err := tx.Exec(ctx, resealSQL, r.CompanyID, r.EndpointID, r.ID, r.Sealed, sealSecret(s.sealer, r.CompanyID, r.EndpointID, secret))
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
