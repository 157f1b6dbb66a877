package auth

import (
	"reservation.dev/platform/fault"
)

// ReasonInvalidScope: a requested scope is not one of the credential's.
const ReasonInvalidScope = "INVALID_SCOPE"

// ReasonTooManyKeys: the company has as many publishable keys as it can have.
const ReasonTooManyKeys = "TOO_MANY_KEYS"

// ReasonTestMode: the operation exists in live mode only.
const ReasonTestMode = "TEST_MODE"

// testMode refuses an operation that exists in live mode only.
func testMode(message string) error { return fault.Refuse(ReasonTestMode, message) }

// Reasons of faults about administrators.
const (
	ReasonSignInExpired         = "SIGN_IN_EXPIRED"
	ReasonResetExpired          = "RESET_EXPIRED"
	ReasonResetUsed             = "RESET_USED"
	ReasonOwnAccount            = "OWN_ACCOUNT"
	ReasonAdministratorDisabled = "ADMINISTRATOR_DISABLED"
	ReasonEmailExists           = "EMAIL_ALREADY_EXISTS"
	ReasonLastOwner             = "LAST_OWNER"
	ReasonSessionEnded          = "SESSION_ENDED"
	ReasonWrongPassword         = "WRONG_PASSWORD"
	ReasonInvalidTotpCode       = "INVALID_TOTP_CODE"
	ReasonTotpEnabled           = "TOTP_ALREADY_ENABLED"
	ReasonTotpNotSetUp          = "TOTP_NOT_SET_UP"
	ReasonInvitationExpired     = "INVITATION_EXPIRED"
	ReasonInvitationAccepted    = "INVITATION_ACCEPTED"
)

// invalidCredentials is the same for every cause, so that it reveals nothing.
func invalidCredentials() *fault.Error {
	return fault.New(fault.Unauthenticated, fault.ReasonInvalidCredentials, "the client credentials are invalid")
}

// unknownPublishableKey is the same for every cause. A publishable key is not secret, so the message can
// say what is wrong.
func unknownPublishableKey() *fault.Error {
	return fault.New(fault.Unauthenticated, fault.ReasonUnauthorized, "the publishable key does not exist or is disabled")
}

func tooManyKeys() error {
	return fault.Refuse(ReasonTooManyKeys, "the company already has 50 publishable keys; delete one first")
}

func adminEmailExists() *fault.Error {
	f := fault.Refuse(ReasonEmailExists, "another administrator has this e-mail address")
	f.Fields = []fault.Field{{Field: "email", Rule: "unique", Message: "belongs to another administrator"}}
	return f
}

func sessionEnded() *fault.Error {
	return fault.New(fault.Unauthenticated, ReasonSessionEnded, "the session has ended; sign in again")
}

// signInExpired is the same for every cause that ends a pending sign-in.
func signInExpired() *fault.Error {
	return fault.New(fault.Unauthenticated, ReasonSignInExpired, "the sign-in has expired; start again with your password")
}

// ownAccount refuses an action that only another administrator can take.
func ownAccount() error {
	return fault.Refuse(ReasonOwnAccount, "you cannot do this to your own account; use the account page")
}

// wrongSignIn is the same for an unknown address and a wrong password.
func wrongSignIn() *fault.Error {
	return fault.New(fault.Unauthenticated, fault.ReasonInvalidCredentials, "the e-mail address or the password is wrong")
}

func wrongCode() *fault.Error {
	return fault.Refuse(ReasonInvalidTotpCode, "the code is wrong or was already used")
}

func wrongPassword() *fault.Error {
	return fault.Refuse(ReasonWrongPassword, "the current password is wrong")
}

func totpNotSetUp() error {
	return fault.Refuse(ReasonTotpNotSetUp, "two-step sign-in is not set up; set it up first")
}

func totpEnabled() error {
	return fault.Refuse(ReasonTotpEnabled, "two-step sign-in is already on; turn it off first")
}
