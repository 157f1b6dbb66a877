package harness

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

// Mailbox is a receiver of webhooks. It verifies and records each request, and answers it as the
// test decides.
type Mailbox struct {
	// Endpoint is the endpoint's identifier (whe_…).
	Endpoint string

	t      testing.TB
	known  chan struct{} // closed when the key is known
	key    []byte
	answer func(Mail) Reply

	mu    sync.Mutex
	mail  []Mail
	tries map[string]int // by identifier
}

// Mail is one received request. A request with an invalid signature is not recorded; it fails the
// test.
type Mail struct {
	// ID is the identifier in the envelope (msg_…), and Event its event.
	ID, Event string
	Data      json.RawMessage
	At        time.Time
	// Ended is when the request was answered or its sender gave up; zero: it is still open.
	Ended time.Time
	// Try counts the requests with this identifier so far, from 1. N counts all requests.
	Try, N int
	// Accepted reports a 2xx answer that arrived before the sender's timeout.
	Accepted bool
	// Broken reports that the connection was broken instead of an answer.
	Broken bool
}

// Reply says how to answer a request.
type Reply struct {
	Status int // 0: 204
	// After delays the answer.
	After time.Duration
	// Hang never answers: the request stays open until the sender gives up.
	Hang bool
	// Reset breaks the connection instead of answering.
	Reset bool
}

// NewMailbox registers an endpoint and serves it until t ends. If answer is nil, it accepts every
// request immediately.
func (c *Cluster) NewMailbox(t testing.TB, company *Company, answer func(Mail) Reply, events ...webhookv1.EventType) *Mailbox {
	t.Helper()
	m := newMailbox(t, answer)
	url := c.Listen(t, m)
	id, secret := company.NewEndpoint(t, url+"/hook", events...)
	m.hasSecret(t, id, secret)
	return m
}

// OpenMailbox returns the receiver of an endpoint that the caller registered and serves. If
// answer is nil, it accepts every request immediately.
func OpenMailbox(t testing.TB, endpoint, secret string, answer func(Mail) Reply) *Mailbox {
	t.Helper()
	m := newMailbox(t, answer)
	m.hasSecret(t, endpoint, secret)
	return m
}

func newMailbox(t testing.TB, answer func(Mail) Reply) *Mailbox {
	if answer == nil {
		answer = func(Mail) Reply { return Reply{} }
	}
	return &Mailbox{t: t, known: make(chan struct{}), answer: answer, tries: map[string]int{}}
}

func (m *Mailbox) hasSecret(t testing.TB, endpoint, secret string) {
	t.Helper()
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || len(key) != sha256.Size {
		t.Fatalf("%q is not a webhook secret: %v", secret, err)
	}
	m.Endpoint, m.key = endpoint, key
	close(m.known)
}

// Mail returns the requests received so far, in order.
func (m *Mailbox) Mail() []Mail {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]Mail(nil), m.mail...)
}

// ServeHTTP verifies, records and answers one request.
func (m *Mailbox) ServeHTTP(rw http.ResponseWriter, req *http.Request) {
	at := time.Now()
	body, err := io.ReadAll(io.LimitReader(req.Body, 1<<20))
	if err != nil {
		return // the sender has closed the connection
	}
	select {
	case <-m.known: // an event from before the registration can arrive before its answer
	case <-req.Context().Done():
		return
	}
	mail, err := m.verify(req.Header, body)
	if err != nil {
		m.t.Errorf("webhook: %v\n%v\n%s", err, req.Header, body)
		rw.WriteHeader(http.StatusBadRequest)
		return
	}
	mail.At = at
	reply, index := m.record(&mail)
	answering := wait(req.Context(), reply)
	m.finish(index, answering)
	if !answering {
		return // the sender gave up or ended
	}
	if reply.Reset {
		if conn, _, err := http.NewResponseController(rw).Hijack(); err == nil {
			conn.Close()
		}
		return
	}
	rw.WriteHeader(reply.status())
}

func (r Reply) status() int {
	if r.Status == 0 {
		return http.StatusNoContent
	}
	return r.Status
}

// record records mail together with the answer that it is about to get.
func (m *Mailbox) record(mail *Mail) (reply Reply, index int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tries[mail.ID]++
	mail.Try, mail.N = m.tries[mail.ID], len(m.mail)+1
	reply = m.answer(*mail)
	mail.Broken = reply.Reset
	mail.Accepted = !reply.Hang && !reply.Reset && reply.status()/100 == 2
	m.mail = append(m.mail, *mail)
	return reply, len(m.mail) - 1
}

func (m *Mailbox) finish(index int, answering bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	mail := &m.mail[index]
	mail.Ended = time.Now()
	mail.Accepted = mail.Accepted && answering
}

// wait waits as r says, and reports whether the sender is still connected.
func wait(ctx context.Context, r Reply) bool {
	if r.Hang {
		<-ctx.Done()
		return false
	}
	if r.After == 0 {
		return true
	}
	timer := time.NewTimer(r.After)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// envelope is the body of a webhook.
type envelope struct {
	ID        string          `json:"id"`
	Event     string          `json:"event"`
	Timestamp time.Time       `json:"timestamp"`
	Data      json.RawMessage `json:"data"`
}

// verify verifies both signatures of a request and compares their content with the body.
func (m *Mailbox) verify(h http.Header, body []byte) (Mail, error) {
	var e envelope
	if err := json.Unmarshal(body, &e); err != nil {
		return Mail{}, err
	}
	var claims struct {
		jwt.RegisteredClaims
		Event     string          `json:"event"`
		Timestamp time.Time       `json:"timestamp"`
		Data      json.RawMessage `json:"data"`
		Digest    string          `json:"body_sha256"`
	}
	_, err := jwt.ParseWithClaims(h.Get("X-Service-Signature"), &claims, func(*jwt.Token) (any, error) { return m.key, nil },
		jwt.WithValidMethods([]string{"HS256"}), jwt.WithExpirationRequired())
	if err != nil {
		return Mail{}, fmt.Errorf("the JWT: %w", err)
	}
	digest := sha256.Sum256(body)
	if claims.Digest != hex.EncodeToString(digest[:]) || claims.ID != e.ID || claims.Event != e.Event ||
		!claims.Timestamp.Equal(e.Timestamp) || !bytes.Equal(claims.Data, e.Data) {
		return Mail{}, errors.New("the JWT is not about this body")
	}
	if h.Get("Webhook-Id") != e.ID {
		return Mail{}, fmt.Errorf("Webhook-Id is %q", h.Get("Webhook-Id"))
	}
	mac := hmac.New(sha256.New, m.key)
	fmt.Fprintf(mac, "%s.%s.%s", e.ID, h.Get("Webhook-Timestamp"), body)
	if want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); h.Get("Webhook-Signature") != want {
		return Mail{}, fmt.Errorf("Webhook-Signature is %q, want %q", h.Get("Webhook-Signature"), want)
	}
	return Mail{ID: e.ID, Event: e.Event, Data: e.Data}, nil
}
