package webhook

import (
	"net/url"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/services/webhook/message"
)

// endpointKey identifies an endpoint among those of all companies.
type endpointKey struct {
	company  id.Company
	endpoint id.WebhookEndpoint
}

// job is a delivery that this process has leased.
type job struct {
	delivery   id.WebhookDelivery
	target     *target
	body       *message.Body
	lease      id.UUID
	leaseUntil time.Time
	tries      int               // attempts since it was created or replayed
	trace      map[string]string // the request and the trace of the domain event
}

// target is what is needed to send to an endpoint. When the endpoint changes, a new target replaces
// it.
type target struct {
	key     endpointKey
	version int64
	url     *url.URL
	rawURL  string // as it was entered
	signers []message.Signer

	// failingSince is since when every attempt has failed, as far as this process knows; zero if
	// the last one succeeded. Only the writer of outcomes uses failingSince and warned.
	failingSince time.Time
	warned       bool
}

// signersAt returns the signers whose secrets are valid at an instant, newest first.
func (t *target) signersAt(at time.Time) []message.Signer {
	n := 0
	for n < len(t.signers) && n < 2 && t.signers[n].Secret.ValidAt(at) {
		n++
	}
	return t.signers[:n]
}

// keysOf returns the endpoints of deliveries.
func keysOf(jobs []*job) (keys []endpointKey) {
	seen := map[endpointKey]bool{}
	for _, j := range jobs {
		if key := j.target.key; !seen[key] {
			seen[key] = true
			keys = append(keys, key)
		}
	}
	return keys
}
