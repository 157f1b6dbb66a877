package move

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
)

// sealedBy lists, by service, the statement that returns the identifiers of the keys that have encrypted values of
// companies. An encrypted value begins with a byte and the identifier (package seal).
func sealedBy() map[string]string {
	return map[string]string{
		authService: `select distinct substr(totp_secret, 2, 4) from administrators where company_id = any ($1) and totp_secret is not null`,
		"webhook":   `select distinct substr(sealed, 2, 4) from endpoint_secrets where company_id = any ($1)`,
	}
}

// checkKeys refuses a target that cannot decrypt the values that move, and those that the source encrypts or signs
// until then.
func (m *Mover) checkKeys(ctx context.Context) error {
	source, err := m.Keys(ctx, m.From)
	if err != nil {
		return fmt.Errorf("cell %s: master keys: %w", m.From.Name, err)
	}
	target, err := m.Keys(ctx, m.To)
	if err != nil {
		return fmt.Errorf("cell %s: master keys: %w", m.To.Name, err)
	}
	used := source[:min(1, len(source))]
	for _, d := range m.databases {
		sql, ok := sealedBy()[d.service]
		if !ok {
			continue
		}
		more, err := keysIn(ctx, d.from, sql, m.companies)
		if err != nil {
			return fmt.Errorf("%s: %w", d.service, err)
		}
		used = slices.Concat(used, more)
	}
	for _, key := range used {
		if !slices.ContainsFunc(target, func(known []byte) bool { return bytes.Equal(known, key) }) {
			return fmt.Errorf("cell %[1]s does not have the master key with the identifier %[3]x, with which %[2]s has encrypted values: "+
				"add the keys of %[2]s to MASTER_KEY of %[1]s, after its own ones, and restart the services of %[1]s", m.To.Name, m.From.Name, key)
		}
	}
	return nil
}

func keysIn(ctx context.Context, c *pgx.Conn, sql string, companies []id.Company) ([][]byte, error) {
	rows, err := c.Query(ctx, sql, keys(companies))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[[]byte])
}
