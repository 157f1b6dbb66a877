package subscription

import (
	"context"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/services/subscription/model"
)

const (
	settingsSQL = `select past_due_after_days, grace_days, reminder_days, end_after_days, version from settings where company_id = $1`

	lockSettingsSQL = settingsSQL + ` for no key update`

	// The first change of a company adds the row, which concurrent ones wait for.
	meetSettingsSQL = `insert into settings (company_id, past_due_after_days, grace_days, reminder_days, end_after_days, version)
		values ($1, $2, $3, $4, $5, $6) on conflict (company_id) do nothing`

	saveSettingsSQL = `update settings set past_due_after_days = $2, grace_days = $3, reminder_days = $4, end_after_days = $5, version = $6
		where company_id = $1`
)

// settings returns the dunning settings of a company.
func (s *store) settings(ctx context.Context, company id.Company) (model.Settings, error) {
	var found []model.Settings
	err := s.ReadOf(ctx, company, settingsQuery(company, &found))
	return settingsOf(found), err
}

// settingsQuery returns the query that reads the settings of a company, for use with settingsOf.
func settingsQuery(company id.Company, out *[]model.Settings) pg.Query {
	return pg.Query{SQL: settingsSQL, Args: []any{company}, Scan: pg.Collect(out)}
}

// settingsOf returns the settings that were found, or the default.
func settingsOf(found []model.Settings) model.Settings {
	if len(found) == 0 {
		return model.DefaultSettings()
	}
	return found[0]
}

// lockSettings reads the settings of a company and locks them until the end of tx.
func (s *store) lockSettings(ctx context.Context, tx *pg.Tx, company id.Company) (model.Settings, error) {
	d := model.DefaultSettings()
	args := []any{company, d.PastDueAfterDays, d.GraceDays, d.ReminderDays, d.EndAfterDays, d.Version}
	var found []model.Settings
	err := tx.Pipeline(ctx, pg.Query{SQL: meetSettingsSQL, Args: args},
		pg.Query{SQL: lockSettingsSQL, Args: []any{company}, Scan: pg.Collect(&found)})
	return settingsOf(found), err
}

// saveSettings stores locked settings when tx commits.
func saveSettings(tx *pg.Tx, company id.Company, n model.Settings) {
	tx.Queue(pg.Query{SQL: saveSettingsSQL, Args: []any{company, n.PastDueAfterDays, n.GraceDays, n.ReminderDays, n.EndAfterDays, n.Version}})
}
