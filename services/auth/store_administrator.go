package auth

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
)

// The columns of the role have another form for the previous release; see migrations/0012_roles.sql.
const administratorColumns = `company_id, id, name, email, ` + dutyColumns + `, password_hash, password_changed_at, totp_secret, totp_confirmed_at,
	totp_step, recovery_codes, generation, revoked_at, case when role <> 'owner' and narrow_role is not null then narrow_disabled_at
	else disabled_at end as disabled_at, last_signed_in_at, version, created_at, updated_at, notices, devices_since`

// dutyColumns are the columns of a duty.
const dutyColumns = `case when role = 'owner' then 'owner' else coalesce(narrow_role, 'manager') end as role,
	case when role <> 'owner' then staff_id end as staff_id`

const (
	// The company is not known before the sign-in.
	administratorByEmailSQL = `select ` + administratorColumns + ` from administrators where email_key = $1`

	administratorSQL = `select ` + administratorColumns + ` from administrators where company_id = $1 and id = $2`

	lockAdministratorSQL = administratorSQL + ` for update`

	administratorsSQL = `select ` + administratorColumns + ` from administrators where company_id = $1`

	// The company's row is locked, so that two owners cannot be removed at the same time.
	otherOwnersSQL = `select exists (select from administrators
		where company_id = $1 and id <> $2 and role = 'owner' and disabled_at is null)`

	insertAdministratorSQL = `insert into administrators (company_id, id, name, email, role, narrow_role, staff_id, password_hash,
		password_changed_at, totp_secret, totp_confirmed_at, totp_step, recovery_codes, generation, revoked_at, disabled_at,
		narrow_disabled_at, last_signed_in_at, version, created_at, updated_at, notices, devices_since, email_key)
		values (@company_id, @id, @name, @email, @role, @narrow_role, @staff_id, @password_hash, @password_changed_at, @totp_secret,
		@totp_confirmed_at, @totp_step, @recovery_codes, @generation, @revoked_at, @disabled_at, @narrow_disabled_at,
		@last_signed_in_at, @version, @created_at, @updated_at, @notices, @devices_since, @email_key)`

	updateAdministratorSQL = `update administrators set name = @name, role = @role, narrow_role = @narrow_role, staff_id = @staff_id,
		narrow_disabled_at = @narrow_disabled_at, password_hash = @password_hash,
		password_changed_at = @password_changed_at, totp_secret = @totp_secret, totp_confirmed_at = @totp_confirmed_at,
		totp_step = @totp_step, recovery_codes = @recovery_codes, generation = @generation, revoked_at = @revoked_at,
		disabled_at = @disabled_at, last_signed_in_at = @last_signed_in_at, version = @version, updated_at = @updated_at,
		notices = @notices, devices_since = @devices_since where company_id = @company_id and id = @id`

	revokedAdministratorsSQL = `select ` + administratorColumns + ` from administrators where revoked_at > $1`
)

func (s *store) administratorByEmail(ctx context.Context, key string) (Administrator, error) {
	if !storable(key) {
		return Administrator{}, fault.Missing("administrator")
	}
	return one[Administrator](ctx, s, pg.Lookup(), "administrator", administratorByEmailSQL, key)
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
	_, err := tx.Exec(ctx, insertAdministratorSQL, administratorArgs(a))
	return err
}

func (s *store) updateAdministrator(ctx context.Context, tx *pg.Tx, a Administrator) error {
	_, err := tx.Exec(ctx, updateAdministratorSQL, administratorArgs(a))
	return err
}

// administratorArgs returns the columns of an administrator. Empty lists are not NULL. Somebody with a narrow role
// is always disabled for the previous release.
func administratorArgs(a Administrator) pgx.NamedArgs {
	disabled, narrowDisabled := a.DisabledAt, (*time.Time)(nil)
	if a.narrow() != nil {
		disabled, narrowDisabled = &a.UpdatedAt, a.DisabledAt
	}
	return rowArgs(a, pgx.NamedArgs{
		"role": a.stored(), "narrow_role": a.narrow(), "staff_id": a.Staff, "disabled_at": disabled, "narrow_disabled_at": narrowDisabled,
		"recovery_codes": append([][]byte{}, a.RecoveryCodes...), "notices": append([]Notice{}, a.Notices...), "email_key": emailKey(a.Email),
	})
}

// revokedAdministrators returns the administrators whose tokens were revoked after an instant.
func (s *store) revokedAdministrators(ctx context.Context, after time.Time) ([]Administrator, error) {
	return all[Administrator](ctx, s, pg.Lookup(), revokedAdministratorsSQL, after)
}

const sealedAdministratorsSQL = `select ` + administratorColumns + ` from administrators where totp_secret is not null and id > $1 order by id limit 100`

// sealedAdministrators returns a batch of the administrators with a TOTP secret, of any company,
// ordered by identifier.
func (s *store) sealedAdministrators(ctx context.Context, after id.Administrator) ([]Administrator, error) {
	return all[Administrator](ctx, s, pg.AllCompanies(), sealedAdministratorsSQL, [16]byte(after))
}

const replaceTotpSecretSQL = `update administrators set totp_secret = $4 where company_id = $1 and id = $2 and totp_secret = $3`

// replaceTotpSecret replaces the sealed secret of a unless it has changed since.
func (s *store) replaceTotpSecret(ctx context.Context, tx *pg.Tx, a Administrator, sealed []byte) error {
	_, err := tx.Exec(ctx, replaceTotpSecretSQL, a.Company, a.ID, a.TotpSecret, sealed)
	return err
}
