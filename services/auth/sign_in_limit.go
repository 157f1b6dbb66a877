package auth

import (
	"crypto/sha256"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/ratelimit"
)

// Passwords can be guessed, so failed sign-ins are not counted like those of machines
// (throttle.go). They are counted in the database, for all replicas, and before the password is
// checked, so that parallel guesses are counted too. After some failures, attempts are delayed.
// Guessing delays only unknown browsers that try the same account from the same network: known
// browsers (device.go) and signed-in administrators are counted separately.

// signInLimit is a limit with its own count of attempts.
type signInLimit struct {
	subject string
	free    int           // failures without consequences
	longest time.Duration // between attempts
}

const (
	// failuresForgotten is how long after the last failure the count starts again.
	failuresForgotten = 15 * time.Minute
	firstGap          = time.Second
)

// limitEmail counts the attempts for an e-mail address from one network.
func limitEmail(email, address string) signInLimit {
	return signInLimit{subject: "pair\x00" + emailKey(email) + "\x00" + ratelimit.Network(address), free: 5, longest: 30 * time.Second}
}

// limitNetwork counts all attempts from one network by unknown browsers.
func limitNetwork(address string) signInLimit {
	return signInLimit{subject: "address\x00" + ratelimit.Network(address), free: 50, longest: 10 * time.Second}
}

// limitDevice counts the attempts in a browser in which the administrator has signed in.
func limitDevice(d device) signInLimit {
	return signInLimit{subject: "device\x00" + string(d.nonce[:]), free: 5, longest: 30 * time.Second}
}

// limitCodes counts the codes tried for one administrator from all unknown browsers. A caller who tries
// codes has the password.
func limitCodes(a id.Administrator) signInLimit {
	return signInLimit{subject: "codes\x00" + a.String(), free: 5, longest: time.Minute}
}

// limitDeviceCodes counts the codes tried in a known browser.
func limitDeviceCodes(d device) signInLimit {
	return signInLimit{subject: "device codes\x00" + string(d.nonce[:]), free: 5, longest: time.Minute}
}

// limitSignedIn counts the password and code checks of a signed-in administrator. Only somebody
// with one of their sessions can fail them.
func limitSignedIn(a id.Administrator) signInLimit {
	return signInLimit{subject: "own\x00" + a.String(), free: 5, longest: 30 * time.Second}
}

// gap returns the minimum time between attempts after a number of failures.
func (l signInLimit) gap(failed int) time.Duration {
	if failed < l.free {
		return 0
	}
	return min(firstGap<<min(failed-l.free, 10), l.longest)
}

// key returns the stored form of the subject: a hash, because an address that somebody typed is
// private.
func (l signInLimit) key() []byte {
	sum := sha256.Sum256([]byte(l.subject))
	return sum[:]
}

// passwordLimits returns the limits for an attempt with a password. A known browser has its own
// limit only. For another browser, the e-mail address together with the browser's network is
// limited, and the network alone. If the browser's address is unknown, the e-mail address alone is
// limited.
func passwordLimits(email string, from browser, known *device) []signInLimit {
	switch {
	case known != nil:
		return []signInLimit{limitDevice(*known)}
	case from.address == "":
		return []signInLimit{limitEmail(email, "")}
	}
	return []signInLimit{limitEmail(email, from.address), limitNetwork(from.address)}
}

// codeLimit returns the limit for an attempt with a code.
func codeLimit(a id.Administrator, known *device) signInLimit {
	if known != nil {
		return limitDeviceCodes(*known)
	}
	return limitCodes(a)
}

// tooManyAttempts refuses an attempt that is too early.
func tooManyAttempts(wait time.Duration) error {
	return fault.New(fault.RateLimited, fault.ReasonRateLimitExceeded, "too many failed attempts; try again later").After(wait)
}
