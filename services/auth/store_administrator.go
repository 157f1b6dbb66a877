package auth

import (
	"context"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
)

const administratorColumns = `company_id, id, name, email, role, password_hash, password_changed_at, totp_secret, totp_confirmed_at,
	totp_step, recovery_codes, generation, revoked_at, disabled_at, last_signed_in_at, version, created_at, updated_at,
	notices, devices_since`

const (
	// Who signs in has no company yet.
	administratorByEmailSQL = `select ` + administratorColumns + ` from administrators where email_key = $1`

	administratorSQL = `select ` + administratorColumns + ` from administrators where company_id = $1 and id = $2`

	lockAdministratorSQL = administratorSQL + ` for update`

	administratorsSQL = `select ` + administratorColumns + ` from administrators where company_id = $1`

	// The company's row is locked, so that no two owners go at once.
	otherOwnersSQL = `select exists (select from administrators
		where company_id = $1 and id <> $2 and role = 'owner' and disabled_at is null)`

	insertAdministratorSQL = `insert into administrators (` + administratorColumns + `, email_key)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)`

	updateAdministratorSQL = `update administrators set name = $3, role = $4, password_hash = $5, password_changed_at = $6,
		totp_secret = $7, totp_confirmed_at = $8, totp_step = $9, recovery_codes = $10, generation = $11, revoked_at = $12,
		disabled_at = $13, last_signed_in_at = $14, version = $15, updated_at = $16, notices = $17, devices_since = $18 where company_id = $1 and id = $2`

	revokedAdministratorsSQL = `select ` + administratorColumns + ` from administrators where revoked_at > $1`
)

func (s *store) administratorByEmail(ctx context.Context, key string) (Administrator, error) {
	if !storable(key) {
		return Administrator{}, fault.Missing("administrator")
	}
	return one[Administrator](ctx, s, pg.AllCompanies(), "administrator", administratorByEmailSQL, key)
}

func (s *store) administrator(ctx context.Context, company id.Company, administrator id.Administrator) (Administrator, error) {
	return one[Administrator](ctx, s, pg.For(company), "administrator", administratorSQL, company, administrator)
}

func (s *store) lockAdministrator(ctx context.Context, tx *pg.Tx, company id.Company, administrator id.Administrator) (Administrator, error) {
	return pg.GetInTx[Administrator](ctx, tx, "administrator", lockAdministratorSQL, company, administrator)
}

func (s *store) administrators(ctx context.Context, company id.Company, p page.Page) ([]Administrator, error) {
	return pageOf[Administrator](ctx, s, pg.For(company), p, administratorsSQL, company)
}

func (s *store) hasOtherOwner(ctx context.Context, tx *pg.Tx, a Administrator) (has bool, err error) {
	err = tx.QueryRow(ctx, otherOwnersSQL, a.Company, a.ID).Scan(&has)
	return has, err
}

func (s *store) insertAdministrator(ctx context.Context, tx *pg.Tx, a Administrator) error {
	_, err := tx.Exec(ctx, insertAdministratorSQL, a.Company, a.ID, a.Name, a.Email, a.Role, a.PasswordHash, a.PasswordChangedAt,
		a.TotpSecret, a.TotpConfirmedAt, a.TotpStep, hashes(a.RecoveryCodes), a.Generation, a.RevokedAt, a.DisabledAt, a.LastSignedInAt,
		a.Version, a.CreatedAt, a.UpdatedAt, notices(a.Notices), a.DevicesSince, emailKey(a.Email))
	return err
}

func (s *store) updateAdministrator(ctx context.Context, tx *pg.Tx, a Administrator) error {
	_, err := tx.Exec(ctx, updateAdministratorSQL, a.Company, a.ID, a.Name, a.Role, a.PasswordHash, a.PasswordChangedAt,
		a.TotpSecret, a.TotpConfirmedAt, a.TotpStep, hashes(a.RecoveryCodes), a.Generation, a.RevokedAt, a.DisabledAt, a.LastSignedInAt,
		a.Version, a.UpdatedAt, notices(a.Notices), a.DevicesSince)
	return err
}

// notices is never NULL.
func notices(list []Notice) []Notice {
	if list == nil {
		return []Notice{}
	}
	return list
}

// hashes is never NULL.
func hashes(list [][]byte) [][]byte {
	if list == nil {
		return [][]byte{}
	}
	return list
}

// revokedAdministrators returns those whose tokens were revoked after an instant.
func (s *store) revokedAdministrators(ctx context.Context, after time.Time) ([]Administrator, error) {
	return all[Administrator](ctx, s, pg.AllCompanies(), revokedAdministratorsSQL, after)
}

const sealedAdministratorsSQL = `select ` + administratorColumns + ` from administrators where totp_secret is not null and id > $1 order by id limit 100`

// sealedAdministrators returns some administrators with a TOTP secret, of any company,
// in the order of their identifiers.
func (s *store) sealedAdministrators(ctx context.Context, after id.Administrator) ([]Administrator, error) {
	return all[Administrator](ctx, s, pg.AllCompanies(), sealedAdministratorsSQL, [16]byte(after))
}

const replaceTotpSecretSQL = `update administrators set totp_secret = $4 where company_id = $1 and id = $2 and totp_secret = $3`

// replaceTotpSecret replaces the sealed secret of a unless it has changed since.
func (s *store) replaceTotpSecret(ctx context.Context, tx *pg.Tx, a Administrator, sealed []byte) error {
	_, err := tx.Exec(ctx, replaceTotpSecretSQL, a.Company, a.ID, a.TotpSecret, sealed)
	return err
}
