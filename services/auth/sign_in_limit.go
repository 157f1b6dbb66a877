package auth

import (
	"crypto/sha256"
	"net/netip"
	"time"

	"reservation.dev/platform/id"
)

// Passwords can be guessed, so unlike the failures of machines (throttle.go)
// theirs are counted in the database, for all replicas, and before the password
// is looked at: guesses in parallel are counted too. Beyond some failures the
// attempts are spaced out. Who guesses is in nobody's way but that of strangers to
// the same account in the same network: a browser that is known (device.go), or
// that is signed in, is counted by itself.

// paced is something that attempts are counted for.
type paced struct {
	subject string
	free    int           // failures without consequences
	longest time.Duration // between attempts
}

const (
	// failuresForgotten is how long nothing has to fail for the count to begin anew.
	failuresForgotten = 15 * time.Minute
	firstGap          = time.Second
)

// pacedPair is an e-mail address tried from one address.
func pacedPair(email, address string) paced {
	return paced{subject: "pair\x00" + emailKey(email) + "\x00" + network(address), free: 5, longest: 30 * time.Second}
}

// pacedAddress is all that is tried from one network by browsers that are not known.
func pacedAddress(address string) paced {
	return paced{subject: "address\x00" + network(address), free: 50, longest: 10 * time.Second}
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

// pacedDevice is a browser that the administrator has signed in with.
func pacedDevice(d device) paced {
	return paced{subject: "device\x00" + string(d.nonce[:]), free: 5, longest: 30 * time.Second}
}

// pacedCodes are the codes of one administrator, from any address but in browsers
// that are known: who tries them has the password.
func pacedCodes(a id.Administrator) paced {
	return paced{subject: "codes\x00" + a.String(), free: 5, longest: time.Minute}
}

// pacedDeviceCodes are the codes that are tried in a browser that is known.
func pacedDeviceCodes(d device) paced {
	return paced{subject: "device codes\x00" + string(d.nonce[:]), free: 5, longest: time.Minute}
}

// pacedOwn is what an administrator who is signed in has to prove once more: only
// who has a session of theirs can fail at it.
func pacedOwn(a id.Administrator) paced {
	return paced{subject: "own\x00" + a.String(), free: 5, longest: 30 * time.Second}
}

// gap is how long an attempt must come after the last one, after that many failures.
func (p paced) gap(failed int) time.Duration {
	if failed < p.free {
		return 0
	}
	return min(firstGap<<min(failed-p.free, 10), p.longest)
}

// key is what is kept of the subject: an address that somebody typed is nobody's
// business.
func (p paced) key() []byte {
	sum := sha256.Sum256([]byte(p.subject))
	return sum[:]
}
