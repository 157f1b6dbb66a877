package customer

import "reservation.dev/platform/check"

// A company decides whether its customers may have no e-mail address, which is then the empty text. The
// transaction that stores the customer reads this setting. The checks before the transaction list an empty address
// as missing; server_email.go leaves it out where the company allows it.

// emailMissing returns the refusal of an empty e-mail address.
func emailMissing() error {
	var failed check.Fields
	failed.Email("email", "")
	return failed.Err()
}

// exceptEmail returns the failed checks of the fields other than the e-mail address.
func exceptEmail(failed *check.Fields) error {
	var others check.Fields
	for _, f := range failed.List() {
		if f.Field != "email" {
			others.Add(f.Field, f.Rule, f.Message)
		}
	}
	return others.Err()
}
