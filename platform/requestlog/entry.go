package requestlog

import (
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/bus"
	"reservation.dev/platform/id"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/subjects"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// Entry is a request that was answered.
type Entry struct {
	// ID begins with the time at which the request arrived.
	ID id.UUID
	// Company is zero if only the credential is known: in requests for a token, and if a publishable
	// key is refused.
	Company id.Company
	// Credential is the m2m_, key_ or pub_ identifier.
	Credential string
	Interface  authv1.PublicInterface
	Method     string
	// Path is escaped, and Route is its pattern; "" if the path does not exist.
	Path, Route string
	Status      int
	ErrorCode   string // "" if the request succeeded
	RequestID   string
	Duration    time.Duration
	Address     string // of the client
	// RequestBytes and ResponseBytes are the sizes of the bodies.
	RequestBytes, ResponseBytes int64
	IdempotencyKey, Replayed    bool
	// Uncounted says that the request does not count against a rate limit.
	Uncounted bool
}

// share is whose part of the buffer an entry takes: the company's or, if it is not known, that of a
// credential that got a token. The zero share has the requests whose credential proved nothing.
type share struct {
	company    id.Company
	credential string
}

func (e *Entry) share() share {
	if e.Company.IsZero() && e.Status < 400 {
		return share{credential: e.Credential}
	}
	return share{company: e.Company}
}

// refusal is the reason why requests with a credential are refused.
type refusal struct{ credential, code string }

// refusal returns the refusal of a request that no rate limit bounds. isLimited is false if the request
// succeeded or counts against a rate limit.
func (e *Entry) refusal() (isLimited bool, r refusal) {
	return e.Uncounted && e.Status >= 400, refusal{e.Credential, e.ErrorCode}
}

// The longest texts of an entry, in characters.
const (
	maxPath = 300
	// maxSegment is longer than any identifier, and shorter than a secret.
	maxSegment = 48
	maxCode    = 64
	maxAddress = 64
)

// bounded copies a path that keeps a long request line, with its query string, in memory.
func bounded(path, line string) string {
	if len(path) > maxPath {
		path = path[:maxPath]
	}
	if len(line) > 2*maxPath {
		return strings.Clone(path)
	}
	return path
}

// publicPath returns a path whose segments are names or identifiers. Any other segment, such as an
// e-mail address, becomes "*".
func publicPath(path string) string {
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		if !isName(segment) {
			segments[i] = "*"
		}
	}
	return strings.Join(segments, "/")
}

// isName reports whether a segment of a path looks like a name or an identifier.
func isName(segment string) bool {
	for _, c := range []byte(segment) {
		isLetter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !isLetter && (c < '0' || c > '9') && c != '_' && c != '-' && c != '.' {
			return false
		}
	}
	return len(segment) <= maxSegment
}

// plain returns a text of visible ASCII characters up to a length, and "" for any other.
func plain(text string, most int) string {
	if !rpc.IsVisibleASCII(text, most) {
		return ""
	}
	return text
}

// message returns the entry as it is published.
func (e *Entry) message() *authv1.ReceivedRequest {
	m := &authv1.ReceivedRequest{Request: &authv1.LoggedRequest{
		Id: id.LoggedRequest(e.ID).String(), CredentialId: e.Credential, Interface: e.Interface, Method: e.Method,
		Path: publicPath(e.Path), Route: e.Route, Status: int32(e.Status), ErrorCode: plain(e.ErrorCode, maxCode),
		RequestId: plain(e.RequestID, rpc.MaxRequestID), DurationMicroseconds: e.Duration.Microseconds(), ClientAddress: plain(e.Address, maxAddress),
		RequestBytes: e.RequestBytes, ResponseBytes: e.ResponseBytes, IdempotencyKey: e.IdempotencyKey, Replayed: e.Replayed,
	}}
	if !e.Company.IsZero() {
		m.CompanyId = e.Company[:]
	}
	return m
}

// batchOf returns the message with the given entries.
func batchOf(entries []Entry) (bus.Message, error) {
	batch := &authv1.RequestsReceived{Requests: make([]*authv1.ReceivedRequest, len(entries))}
	for i := range entries {
		batch.Requests[i] = entries[i].message()
	}
	payload, err := proto.Marshal(batch)
	return bus.Message{ID: id.NewUUID(), Subject: subjects.RequestsReceived, Payload: payload, OccurredAt: time.Now()}, err
}
