package auth

import (
	"reservation.dev/platform/id"
	"reservation.dev/platform/token"
)

// directoryCompany is a company in live mode and its state in this cell.
type directoryCompany struct {
	ID    id.Company `db:"company_id"`
	State string     `db:"state"` // of the move; "": the cell serves the company
}

// directoryCredential is a credential of any kind and its company.
type directoryCredential struct {
	Company id.Company `db:"company_id"`
	ID      id.UUID    `db:"id"`
	Kind    string     `db:"kind"`
}

// subject returns the credential's identifier as its holder sends it.
func (c directoryCredential) subject() string {
	if c.Kind == token.KindPublishable {
		return id.PublishableKey(c.ID).String()
	}
	return kindOf(c.Kind).subject(c.ID)
}
