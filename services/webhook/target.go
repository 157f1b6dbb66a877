package webhook

import (
	"net/url"
	"time"

	"reservation.dev/services/webhook/message"
)

// target is what sending needs of an endpoint. It is replaced, not changed, but
// for what is marked.
type target struct {
	key     endpointKey
	version int64
	url     *url.URL
	text    string // the URL as it was written
	signers []message.Signer

	// failingSince is since when there was nothing but failures, as far as this
	// process knows; zero: not at all. Only the writer of outcomes uses it.
	failingSince time.Time
	warned       bool
}

// signersAt returns those of the secrets that are valid at an instant.
func (t *target) signersAt(at time.Time) []message.Signer {
	n := 0
	for n < len(t.signers) && n < 2 && t.signers[n].Secret.ValidAt(at) {
		n++
	}
	return t.signers[:n]
}
