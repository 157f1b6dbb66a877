package auth

import (
	"reservation.dev/platform/pg"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

func directoryCompanyMessage(c directoryCompany) *authv1.DirectoryCompany {
	state := authv1.CompanyState_COMPANY_STATE_OPEN
	switch pg.MoveState(c.State) {
	case pg.Leaving:
		state = authv1.CompanyState_COMPANY_STATE_LEAVING
	case pg.Left:
		state = authv1.CompanyState_COMPANY_STATE_LEFT
	case pg.Arriving:
		state = authv1.CompanyState_COMPANY_STATE_ARRIVING
	}
	return &authv1.DirectoryCompany{CompanyId: c.ID.String(), State: state}
}

func directoryCredentialMessage(c directoryCredential) *authv1.DirectoryCredential {
	return &authv1.DirectoryCredential{Id: c.subject(), CompanyId: c.Company.String()}
}
