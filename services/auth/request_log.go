package auth

import (
	"time"

	"reservation.dev/platform/id"
)

// LoggedRequest is a request of the request log.
type LoggedRequest struct {
	Company        id.Company       `db:"company_id"` // zero in a batch if only the credential is known
	ID             id.LoggedRequest `db:"id"`
	Credential     id.UUID          `db:"credential_id"`
	Kind           int16            `db:"kind"`
	Interface      int16            `db:"interface"`
	Status         int16            `db:"status"`
	IdempotencyKey bool             `db:"idempotency_key"`
	Replayed       bool             `db:"replayed"`
	Method         string           `db:"method"`
	Path           string           `db:"path"`
	Route          string           `db:"route"`
	ErrorCode      string           `db:"error_code"`
	RequestID      *string          `db:"request_id"` // nil: the identifier without its prefix
	ClientAddress  string           `db:"client_address"`
	DurationUS     int64            `db:"duration_us"`
	RequestBytes   int64            `db:"request_bytes"`
	ResponseBytes  int64            `db:"response_bytes"`
}

// The kinds of credentials in the request log.
const (
	loggedClient int16 = iota + 1
	loggedKey
	loggedPublishable
)

// loggedCredential returns the identifier and the kind of a credential that the request log can have.
func loggedCredential(subject string) (credential id.UUID, kind int16, ok bool) {
	if client, err := id.Parse[id.APIClient](subject); err == nil {
		return client.UUID(), loggedClient, true
	}
	if key, err := id.Parse[id.APIKey](subject); err == nil {
		return key.UUID(), loggedKey, true
	}
	key, err := id.Parse[id.PublishableKey](subject)
	return key.UUID(), loggedPublishable, err == nil
}

// subject returns the identifier of the request's credential.
func (r *LoggedRequest) subject() string {
	switch r.Kind {
	case loggedClient:
		return id.APIClient(r.Credential).String()
	case loggedKey:
		return id.APIKey(r.Credential).String()
	}
	return id.PublishableKey(r.Credential).String()
}

// requestID returns the X-Request-Id of the response.
func (r *LoggedRequest) requestID() string {
	if r.RequestID != nil {
		return *r.RequestID
	}
	return r.ID.UUID().String()
}

const (
	// leastError is the lowest status of an error. The indexes of errors have the same number.
	leastError = 400
	// highestStatus is the highest status of all.
	highestStatus = 599
)

// requestFilter limits a list of requests; zero fields match every request.
type requestFilter struct {
	credential           *id.UUID
	kind                 int16 // of the credential
	interfaceID          int16
	method               string
	minStatus, maxStatus int16
	since, until         *time.Time
	requestID            string
	// only is the one request that can match; nil: any.
	only *id.LoggedRequest
}

// fits reports whether requests of the filter's credential are those of its kind. All requests of a
// credential have one kind.
func (f *requestFilter) fits(list []LoggedRequest) bool {
	return f.credential == nil || len(list) == 0 || list[0].Kind == f.kind
}
