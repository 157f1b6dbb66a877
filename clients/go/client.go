package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"reservation.dev/client/a"
	"reservation.dev/client/b"
)

// Options changes the defaults of a client.
type Options struct {
	// HTTPClient sends the requests. The default waits at most 30 seconds for the headers of a response.
	HTTPClient *http.Client
	// Attempts is how often a request is sent at most. Default: 6.
	Attempts int
	// Patience is how long a call waits for its last attempt to begin, counted from the start of the
	// call. If the platform asks for a longer wait, the call fails at once. Default: 2 minutes.
	Patience time.Duration
}

// B is a client of Interface B. It can be used by many goroutines.
type B struct {
	*b.ClientWithResponses
}

// NewB returns a client of Interface B. baseURL ends in /api/v1. A publishable key (pub_…) has no
// secret: apiSecret is then "".
func NewB(baseURL, apiKey, apiSecret string, o Options) (*B, error) {
	server, err := serverURL(baseURL)
	if err != nil {
		return nil, err
	}
	c := newCaller(o)
	c.tokens.fetch = func(ctx context.Context) (string, time.Duration, error) {
		if apiSecret == "" {
			return apiKey, 24 * time.Hour, nil
		}
		var t b.TokenResponse
		err := c.exchange(ctx, server+"/auth/token", b.TokenRequest{APIKey: apiKey, APISecret: apiSecret}, &t)
		return t.Token, time.Duration(t.ExpiresIn) * time.Second, err
	}
	generated, err := b.NewClientWithResponses(server, b.WithHTTPClient(c))
	return &B{generated}, err
}

// A is a client of Interface A. It can be used by many goroutines.
type A struct {
	*a.ClientWithResponses
}

// NewA returns a client of Interface A.
func NewA(baseURL, clientID, clientSecret string, o Options) (*A, error) {
	server, err := serverURL(baseURL)
	if err != nil {
		return nil, err
	}
	c := newCaller(o)
	c.tokens.fetch = func(ctx context.Context) (string, time.Duration, error) {
		var t a.TokenResponse
		err := c.exchange(ctx, server+"/token", a.TokenRequest{ClientID: &clientID, ClientSecret: &clientSecret}, &t)
		return t.AccessToken, time.Duration(t.ExpiresIn) * time.Second, err
	}
	generated, err := a.NewClientWithResponses(server, a.WithHTTPClient(c))
	return &A{generated}, err
}

// serverURL returns a base address without a slash at the end.
func serverURL(base string) (string, error) {
	u, err := url.Parse(base)
	if err != nil {
		return "", err
	}
	if u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return "", fmt.Errorf("the base address %q does not start with https:// or http:// and a host", base)
	}
	return strings.TrimRight(base, "/"), nil
}

// exchange sends credentials once, and decodes the response.
func (c *caller) exchange(ctx context.Context, address string, credentials, response any) error {
	text, err := json.Marshal(credentials)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.once(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return json.NewDecoder(resp.Body).Decode(response)
}

// Ptr returns a pointer to v, for optional members.
func Ptr[T any](v T) *T { return &v }
