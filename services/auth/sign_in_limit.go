package auth

import (
	"crypto/sha256"
	"net/netip"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

// Passwords can be guessed, so unlike the failures of machines (throttle.go) theirs are
// counted in the database, for all replicas, and before the password is checked: parallel
// guesses are counted too. After some failures the attempts are spaced out. A guesser
// gets in the way only of strangers who try the same account from the same network: a
// known browser (device.go) and a signed-in administrator are counted by themselves.

// signInLimit is something that attempts are counted for.
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

// limitEmail counts the attempts at an e-mail address from one network.
func limitEmail(email, address string) signInLimit {
	return signInLimit{subject: "pair\x00" + emailKey(email) + "\x00" + network(address), free: 5, longest: 30 * time.Second}
}

// limitNetwork counts all attempts from one network by browsers that are not known.
func limitNetwork(address string) signInLimit {
	return signInLimit{subject: "address\x00" + network(address), free: 50, longest: 10 * time.Second}
}

// network is what one caller has: an address of IPv4, a /64 of IPv6.
func network(address string) string {
	parsed, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	parsed = parsed.Unmap().WithZone("")
	if parsed.Is4() {
		return parsed.String()
	}
	return netip.PrefixFrom(parsed, 64).Masked().String()
}

// limitDevice counts the attempts in a browser that the administrator has signed in with.
func limitDevice(d device) signInLimit {
	return signInLimit{subject: "device\x00" + string(d.nonce[:]), free: 5, longest: 30 * time.Second}
}

// limitCodes counts the codes of one administrator, from any browser that is not known:
// whoever tries them has the password.
func limitCodes(a id.Administrator) signInLimit {
	return signInLimit{subject: "codes\x00" + a.String(), free: 5, longest: time.Minute}
}

// limitDeviceCodes counts the codes that are tried in a known browser.
func limitDeviceCodes(d device) signInLimit {
	return signInLimit{subject: "device codes\x00" + string(d.nonce[:]), free: 5, longest: time.Minute}
}

// limitSignedIn counts what a signed-in administrator has to prove again: only somebody
// with a session of theirs can fail at it.
func limitSignedIn(a id.Administrator) signInLimit {
	return signInLimit{subject: "own\x00" + a.String(), free: 5, longest: 30 * time.Second}
}

// gap is the least time between attempts after that many failures.
func (l signInLimit) gap(failed int) time.Duration {
	if failed < l.free {
		return 0
	}
	return min(firstGap<<min(failed-l.free, 10), l.longest)
}

// key is what is stored of the subject. It is a hash, because an address that somebody
// typed is private.
func (l signInLimit) key() []byte {
	sum := sha256.Sum256([]byte(l.subject))
	return sum[:]
}

// passwordLimits are what an attempt with a password is counted for: a known browser
// alone; of others the e-mail address from their network, and the network. Without an
// address of the browser it is the e-mail address alone.
func passwordLimits(email string, from browser, known *device) []signInLimit {
	switch {
	case known != nil:
		return []signInLimit{limitDevice(*known)}
	case from.address == "":
		return []signInLimit{limitEmail(email, "")}
	}
	return []signInLimit{limitEmail(email, from.address), limitNetwork(from.address)}
}

// codeLimit is what an attempt with a code is counted for.
func codeLimit(a id.Administrator, known *device) signInLimit {
	if known != nil {
		return limitDeviceCodes(*known)
	}
	return limitCodes(a)
}

// tooManyAttempts refuses an attempt that comes too early.
func tooManyAttempts(wait time.Duration) error {
	return fault.New(fault.RateLimited, fault.ReasonRateLimitExceeded, "too many failed attempts, try again later").After(wait)
}
