package directory

import authv1 "reservation.dev/proto/gen/reservation/auth/v1"

func stateOf(s authv1.CompanyState) state {
	switch s {
	case authv1.CompanyState_COMPANY_STATE_OPEN:
		return open
	case authv1.CompanyState_COMPANY_STATE_LEAVING:
		return leaving
	case authv1.CompanyState_COMPANY_STATE_LEFT:
		return left
	}
	return arriving
}
