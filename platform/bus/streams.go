package bus

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"reservation.dev/platform/subjects"
)

const (
	eventsKept = 7 * 24 * time.Hour
	// dedupeWindow is how long a stream remembers message ids. If a relay crashes between
	// publishing and deleting, another relay repeats its events well within this time.
	dedupeWindow = 10 * time.Minute
	// requestsKept and requestsBytes limit what waits for the request log while the auth service is
	// away. The oldest entries are discarded.
	requestsKept  = 24 * time.Hour
	requestsBytes = 64 << 20
)

var (
	eventForm    = regexp.MustCompile(`^[a-z][a-z0-9_]*\.v1\.[a-z][a-z0-9_]*$`)
	identityForm = regexp.MustCompile(`^auth\.v1\.(credential_revoked|signing_keys_changed)\.[A-Za-z0-9_-]+$`)
	filterForm   = regexp.MustCompile(`^([a-z][a-z0-9_]*|\*)\.v1\.([a-z][a-z0-9_]*|\*)$`)
	keyedFilter  = regexp.MustCompile(`^auth\.v1\.(credential_revoked|signing_keys_changed)\.([A-Za-z0-9_-]+|\*)$`)
)

// CheckSubject refuses a subject that no stream accepts. A subject has no prefix:
// "customer.v1.customer_created", "auth.v1.credential_revoked.m2m_…".
func CheckSubject(subject string) error {
	if eventForm.MatchString(subject) || identityForm.MatchString(subject) || subject == subjects.RequestsReceived {
		return nil
	}
	return fmt.Errorf("%q is not the subject of an event", subject)
}

func (b *Bus) full(subject string) string { return b.cfg.Prefix + "." + subject }

func (b *Bus) short(subject string) string { return strings.TrimPrefix(subject, b.cfg.Prefix+".") }

func (b *Bus) eventsStream() string { return strings.ToUpper(b.cfg.Prefix) + "_EVENTS" }

func (b *Bus) identityStream() string { return strings.ToUpper(b.cfg.Prefix) + "_IDENTITY" }

func (b *Bus) requestsStream() string { return strings.ToUpper(b.cfg.Prefix) + "_REQUESTS" }

// filters returns the stream that has all the subjects, and their full form.
func (b *Bus) filters(wanted []string) (stream string, full []string, err error) {
	if len(wanted) == 0 {
		return "", nil, errors.New("no subjects")
	}
	for _, subject := range wanted {
		in := b.eventsStream()
		switch {
		case subject == subjects.RequestsReceived:
			in = b.requestsStream()
		case keyedFilter.MatchString(subject):
			in = b.identityStream()
		case !filterForm.MatchString(subject):
			return "", nil, fmt.Errorf("%q does not match the subject of any event", subject)
		}
		if stream != "" && in != stream {
			return "", nil, fmt.Errorf("%q is in another stream than %q", subject, wanted[0])
		}
		stream = in
		full = append(full, b.full(subject))
	}
	return stream, full, nil
}

// streams returns this installation's streams by name. Each function sets the settings
// that this package defines and leaves the others, which the server fills in, unchanged.
func (b *Bus) streams() map[string]func(*jetstream.StreamConfig) {
	return map[string]func(*jetstream.StreamConfig){
		b.eventsStream(): func(c *jetstream.StreamConfig) {
			c.Description = "domain events"
			c.Subjects = []string{b.full("*.v1.*")}
			c.MaxAge = eventsKept
			c.Duplicates = dedupeWindow
			c.Replicas = b.cfg.Replicas
		},
		b.identityStream(): func(c *jetstream.StreamConfig) {
			c.Description = "the last event for each credential and for the signing keys, kept permanently"
			c.Subjects = []string{b.full(subjects.CredentialRevoked + "*"), b.full(subjects.SigningKeysChanged + "*")}
			c.MaxMsgsPerSubject = 1
			c.Duplicates = dedupeWindow
			c.Replicas = b.cfg.Replicas
		},
		b.requestsStream(): func(c *jetstream.StreamConfig) {
			c.Description = "requests to the public interfaces, on their way to the request log"
			c.Subjects = []string{b.full(subjects.RequestsReceived)}
			c.MaxAge = requestsKept
			c.MaxBytes = requestsBytes
			c.Duplicates = dedupeWindow
			c.Replicas = b.cfg.Replicas
		},
	}
}

// EnsureStreams creates the streams, or updates them to this binary's configuration. It
// waits up to StartTimeout for JetStream. Several processes can call it at the same time.
func (b *Bus) EnsureStreams(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, b.cfg.StartTimeout)
	defer cancel()
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		err := b.ensureStreams(ctx)
		if err == nil || !isTemporary(err) || ctx.Err() != nil {
			return err
		}
		b.log.WarnContext(ctx, "waiting for jetstream", "error", err)
		b.pause(ctx, wait)
		if ctx.Err() != nil {
			return err
		}
	}
}

func (b *Bus) ensureStreams(ctx context.Context) error {
	for name, shape := range b.streams() {
		if err := b.ensureStream(ctx, name, shape); err != nil {
			return fmt.Errorf("stream %s: %w", name, err)
		}
	}
	return nil
}

func (b *Bus) ensureStream(ctx context.Context, name string, shape func(*jetstream.StreamConfig)) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	s, err := b.js.Stream(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		want := jetstream.StreamConfig{Name: name, Storage: jetstream.FileStorage, Retention: jetstream.LimitsPolicy}
		shape(&want)
		_, err = b.js.CreateStream(ctx, want)
		if !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			return err
		}
		// Another process has created the stream with other settings.
		s, err = b.js.Stream(ctx, name)
	}
	if err != nil {
		return err
	}
	have := s.CachedInfo().Config
	want := have
	shape(&want)
	if reflect.DeepEqual(have, want) {
		return nil
	}
	_, err = b.js.UpdateStream(ctx, want)
	return err
}

// isTemporary reports whether a retry may succeed: JetStream is starting, electing a leader,
// or unreachable.
func isTemporary(err error) bool {
	var api *jetstream.APIError
	if errors.As(err, &api) {
		return api.Code >= 500
	}
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout) ||
		errors.Is(err, nats.ErrNoResponders) || errors.Is(err, nats.ErrDisconnected) ||
		errors.Is(err, jetstream.ErrJetStreamNotEnabled)
}
