package reservectl

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"reservation.dev/devkit/localca"
	"reservation.dev/platform/fault"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

const (
	// longestWebhook is the longest body of a request or a response, in bytes.
	longestWebhook = 1 << 20
	// closeTimeout limits the deletion of the endpoint.
	closeTimeout = 5 * time.Second
	// shutdownTimeout limits the wait for responses that are being written.
	shutdownTimeout = 300 * time.Millisecond
	// forwardTimeout limits the request to the --forward-to URL. The platform waits longer for
	// a response.
	forwardTimeout = 9 * time.Second
)

// listenerOptions configures a listener.
type listenerOptions struct {
	events  []webhookv1.EventType
	port    int    // 0: any free port
	answer  int    // HTTP status to respond with
	forward string // URL to forward webhooks to, whose response is used instead; "": none
	// seen is called with each webhook, one at a time, before the response is sent.
	seen func(*receipt)
}

// listener receives webhooks over HTTPS on loopback. It is registered as an endpoint.
type listener struct {
	options  listenerOptions
	url      string
	endpoint string // whe_ identifier
	session  *session
	webhooks webhookv1.WebhookServiceClient
	server   *http.Server
	failed   chan error // the error that ended the server
	client   *http.Client

	mu   sync.Mutex
	keys []signingKey
	ids  map[string]int // number of webhooks received, by message ID
}

// listen opens a listener. The caller closes it.
func (a *app) listen(ctx context.Context, o listenerOptions) (*listener, error) {
	s, err := a.forCompany(a.webhooks)(ctx)
	if err != nil {
		return nil, err
	}
	l := &listener{
		options: o, session: s, webhooks: webhookv1.NewWebhookServiceClient(s.conn), failed: make(chan error, 1), ids: map[string]int{},
		client: &http.Client{Timeout: forwardTimeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
	if err := l.open(a.access.Webhooks.CAFile); err != nil {
		s.close()
		return nil, err
	}
	if err := l.register(); err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

// open starts the server.
func (l *listener) open(caFile string) error {
	if caFile == "" {
		return usageError{errors.New("no certificate authority: use the credentials.json of a platform that runs on this machine, or give --ca (see WEBHOOK_CA_FILE)")}
	}
	ca, err := localca.Load(caFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("--ca: %s and %s must both exist", caFile, localca.KeyFile(caFile))
	case err != nil:
		return fmt.Errorf("--ca: %w", err)
	}
	certificate, err := ca.Issue(time.Now())
	if err != nil {
		return err
	}
	socket, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", l.options.port))
	if err != nil {
		return err
	}
	l.url = "https://" + socket.Addr().String() + "/"
	l.server = &http.Server{
		Handler: l, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, ErrorLog: log.New(io.Discard, "", 0),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}},
	}
	go func() { l.failed <- l.server.ServeTLS(socket, "", "") }()
	return nil
}

// register creates the endpoint. Webhooks that arrive before its secret is known wait for it.
func (l *listener) register() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	host, _ := os.Hostname() // if it fails, the description has no host
	description := strings.TrimSpace("reservectl listen " + host)
	if err := l.deleteAbandoned(description); err != nil {
		return err
	}
	res, err := l.webhooks.CreateEndpoint(l.session.ctx, &webhookv1.CreateEndpointRequest{
		Url: l.url, Events: l.options.events, Description: description,
	})
	if err != nil {
		return explainPrivateAddress(err)
	}
	l.endpoint = res.GetEndpoint().GetId()
	return l.fetchKeys()
}

// explainPrivateAddress adds advice to err if the platform does not send webhooks to this machine.
func explainPrivateAddress(err error) error {
	for _, field := range fault.From(err).Fields {
		if field.Field == "url" && field.Rule == "address" {
			return hintedError{err, "; the platform sends webhooks to this machine only if WEBHOOK_PRIVATE_ADDRESSES is allow, which is the default of standalone on a loopback address"}
		}
	}
	return err
}

// deleteAbandoned deletes the endpoints of killed listeners on this machine: those that have our
// description and refuse connections.
func (l *listener) deleteAbandoned(description string) error {
	res, err := l.webhooks.ListEndpoints(l.session.ctx, &webhookv1.ListEndpointsRequest{})
	if err != nil {
		return err
	}
	for _, e := range res.GetEndpoints() {
		address, ok := strings.CutPrefix(strings.TrimSuffix(e.GetUrl(), "/"), "https://127.0.0.1:")
		if !ok || e.GetDescription() != description {
			continue
		}
		conn, err := net.DialTimeout("tcp", "127.0.0.1:"+address, time.Second)
		switch {
		case err == nil:
			conn.Close()
		case errors.Is(err, syscall.ECONNREFUSED):
			_, err := l.webhooks.DeleteEndpoint(l.session.ctx, &webhookv1.DeleteEndpointRequest{Id: e.GetId()})
			if err != nil && fault.From(err).Kind != fault.NotFound { // not found: another listener deleted it
				return err
			}
		}
	}
	return nil
}

// fetchKeys fetches the endpoint's secrets. The caller holds mu.
func (l *listener) fetchKeys() error {
	res, err := l.webhooks.GetSecret(l.session.ctx, &webhookv1.GetSecretRequest{EndpointId: l.endpoint})
	if err != nil {
		return err
	}
	l.keys = nil
	for _, s := range res.GetSecrets() {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(s.GetSecret(), "whsec_"))
		if err != nil {
			return err
		}
		l.keys = append(l.keys, signingKey{id: s.GetKeyId(), secret: s.GetSecret(), key: key})
	}
	return nil
}

// close deletes the endpoint and stops the server, even if the context of the session has ended.
func (l *listener) close() error {
	defer l.session.close()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.session.ctx), closeTimeout)
	defer cancel()
	var err error
	if l.endpoint != "" {
		if _, err = l.webhooks.DeleteEndpoint(ctx, &webhookv1.DeleteEndpointRequest{Id: l.endpoint}); err != nil {
			err = hintedError{err, "; the endpoint still exists: delete it with reservectl webhook delete " + l.endpoint}
		}
	}
	// Shutdown lets responses that are being written finish, but would also wait for the sender's
	// idle connections. Close cuts these.
	short, end := context.WithTimeout(ctx, shutdownTimeout)
	defer end()
	_ = l.server.Shutdown(short)
	_ = l.server.Close()
	return err
}

// ServeHTTP implements http.Handler.
func (l *listener) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, longestWebhook))
	if err != nil {
		http.Error(w, "the body could not be read", http.StatusBadRequest)
		return
	}
	if req.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "send webhooks with POST", http.StatusMethodNotAllowed)
		return
	}
	r := &receipt{at: time.Now(), header: req.Header, body: body, answer: l.options.answer}
	text := []byte{}
	if l.options.forward != "" {
		r.answer, text = l.forward(req, body)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	r.verify(l.keys)
	if errors.Is(r.token, errNoKey) && l.fetchKeys() == nil { // the secret was rotated
		r.verify(l.keys)
	}
	r.repeat = l.ids[r.envelope.ID]
	l.ids[r.envelope.ID]++
	l.options.seen(r)
	w.WriteHeader(r.answer)
	_, _ = w.Write(text) // the sender may have disconnected
}

// forward forwards a request unchanged and returns the response, or 502 if there is none.
func (l *listener) forward(req *http.Request, body []byte) (int, []byte) {
	out, err := http.NewRequestWithContext(req.Context(), http.MethodPost, l.options.forward, bytes.NewReader(body))
	if err != nil {
		return http.StatusBadGateway, []byte(err.Error())
	}
	out.Header = req.Header.Clone()
	res, err := l.client.Do(out)
	if err != nil {
		return http.StatusBadGateway, []byte(err.Error())
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, longestWebhook))
	if err != nil {
		return http.StatusBadGateway, []byte(err.Error())
	}
	return res.StatusCode, text
}
