package edge

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/ratelimit"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// A publishable key (pub_) is itself the bearer token of a web page. The edge exchanges it for an access
// token, which it keeps and passes on to the services. The token is verified at each request like any
// other, so a change of the key reaches the edge with the revocation of its token:
//
//	key ──token kept?──yes──▶ verify ──valid──▶ origin (403) → rate limit (429) → operation
//	        │ no                 └──revoked or expired──▶ exchange
//	        └──▶ limit of exchanges per address (429) → exchange ──unknown──▶ 401

const (
	// publishableLimit is how many requests a key can make from one network in any 60 seconds, and how
	// many exchanges one network can cause.
	publishableLimit = 60
	// maxPublishable is how many keys are kept with their tokens, and maxUnknown how many that do not
	// exist.
	maxPublishable = 10_000
	maxUnknown     = 1_000
	// unknownFor is how long a key that does not exist is not looked up again.
	unknownFor = time.Second
	// maxExchanges is how many keys are exchanged at the same time.
	maxExchanges = 32
	// exchangeTimeout is how long an exchange can take.
	exchangeTimeout = 5 * time.Second
	// leastLifetime is how long a kept token must still be valid, so that the services accept it.
	leastLifetime = 30 * time.Second
)

// publishableKeys exchanges publishable keys.
type publishableKeys struct {
	client    authv1.TokenServiceClient
	now       func() time.Time
	exchanges singleflight.Group
	slots     chan struct{}

	mu      sync.Mutex
	kept    map[string]publishableToken
	unknown map[string]time.Time // when the key can be looked up again
}

// publishableToken is what a key was exchanged for.
type publishableToken struct {
	raw     string
	origins []string
}

// AcceptPublishableKeys makes the routes that are marked for it accept publishable keys.
func (e *Edge) AcceptPublishableKeys(client authv1.TokenServiceClient) {
	e.keys = &publishableKeys{
		client: client, now: time.Now, slots: make(chan struct{}, maxExchanges),
		kept: map[string]publishableToken{}, unknown: map[string]time.Time{},
	}
}

// isPublishable reports whether a bearer token is a publishable key.
func (e *Edge) isPublishable(raw string) bool {
	const prefix = "pub_"
	return e.keys != nil && len(raw) > len(prefix) && raw[:len(prefix)] == prefix
}

// authenticatePublishable admits a request with a publishable key.
func (e *Edge) authenticatePublishable(ctx context.Context, r *http.Request, s *exchange, key string) (context.Context, error) {
	s.response.Add("Vary", "Origin")
	s.caller.claim(key)
	if !s.route.Publishable {
		return nil, fault.New(fault.Forbidden, fault.ReasonForbidden, "a publishable key cannot be used for this operation; use an API key")
	}
	network := ratelimit.Network(e.opts.Proxies.ClientAddress(r))
	claims, origins, err := e.publishableClaims(ctx, key, network)
	s.caller.know(claims, err)
	if err != nil {
		return nil, err
	}
	s.identify(claims)
	if err := allowOrigin(s.response, r.Header, origins); err != nil {
		return nil, err
	}
	if err := e.opts.Count(ctx, s.response, key+" "+network, publishableLimit); err != nil {
		return nil, err
	}
	s.counted = true
	return rpc.WithClaims(ctx, claims), nil
}

// publishableClaims returns the claims of a key's token, and the key's origins.
func (e *Edge) publishableClaims(ctx context.Context, key, network string) (*token.Claims, []string, error) {
	if _, err := id.Parse[id.PublishableKey](key); err != nil {
		return nil, nil, unknownKey()
	}
	if kept, ok := e.keys.get(key); ok {
		claims, err := e.verifyPublishable(ctx, kept)
		if err == nil && claims.ExpiresAt.Sub(e.keys.now()) >= leastLifetime {
			return claims, kept.origins, nil
		}
		if err != nil && !fault.Is(err, fault.Unauthenticated) {
			return nil, nil, err
		}
		e.keys.drop(key, kept)
	}
	fresh, err := e.exchangeKey(ctx, key, network)
	if err != nil {
		return nil, nil, err
	}
	claims, err := e.verifyPublishable(ctx, fresh)
	return claims, fresh.origins, err
}

func (e *Edge) verifyPublishable(ctx context.Context, t publishableToken) (*token.Claims, error) {
	claims, err := e.opts.Verifier.Verify(ctx, t.raw)
	if err == nil && claims.Kind != token.KindPublishable {
		err = unknownKey()
	}
	return claims, err
}

// exchangeKey exchanges a key that is not kept. Each network can cause only so many exchanges, because
// anybody can invent keys.
func (e *Edge) exchangeKey(ctx context.Context, key, network string) (publishableToken, error) {
	if e.keys.isUnknown(key) {
		return publishableToken{}, unknownKey()
	}
	if d := e.opts.Limiter.Take(ctx, "publishable keys "+network, publishableLimit); !d.Allowed {
		return publishableToken{}, fault.New(fault.RateLimited, fault.ReasonRateLimitExceeded,
			"too many publishable keys were looked up from this address").After(max(d.Reset, time.Second))
	}
	return e.keys.exchange(ctx, key)
}

// exchange exchanges a key. Requests that need the same key at the same time share the exchange, which
// therefore does not end with the first of them.
func (k *publishableKeys) exchange(ctx context.Context, key string) (publishableToken, error) {
	shared := context.WithoutCancel(ctx)
	result := k.exchanges.DoChan(key, func() (any, error) { return k.call(shared, key) })
	select {
	case <-ctx.Done():
		return publishableToken{}, ctx.Err()
	case r := <-result:
		fresh, _ := r.Val.(publishableToken)
		return fresh, r.Err
	}
}

// call calls the auth service, and keeps what it answers.
func (k *publishableKeys) call(ctx context.Context, key string) (publishableToken, error) {
	select {
	case k.slots <- struct{}{}:
		defer func() { <-k.slots }()
	default:
		return publishableToken{}, fault.Away(errors.New("too many publishable keys are exchanged at the same time"))
	}
	ctx, cancel := context.WithTimeout(ctx, exchangeTimeout)
	defer cancel()
	res, err := k.client.ExchangePublishableKey(ctx, &authv1.ExchangePublishableKeyRequest{Key: key})
	if fault.Is(err, fault.Unauthenticated) {
		k.keepUnknown(key)
		return publishableToken{}, unknownKey()
	}
	if err != nil {
		return publishableToken{}, err
	}
	fresh := publishableToken{raw: res.GetAccessToken(), origins: res.GetOrigins()}
	k.keep(key, fresh)
	return fresh, nil
}

func (k *publishableKeys) get(key string) (publishableToken, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	kept, ok := k.kept[key]
	return kept, ok
}

// keep keeps a token, in place of any other if there are too many.
func (k *publishableKeys) keep(key string, t publishableToken) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for other := range k.kept {
		if len(k.kept) < maxPublishable {
			break
		}
		delete(k.kept, other)
	}
	k.kept[key] = t
}

// drop forgets a token, unless another request has replaced it.
func (k *publishableKeys) drop(key string, t publishableToken) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.kept[key].raw == t.raw {
		delete(k.kept, key)
	}
}

func (k *publishableKeys) keepUnknown(key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.unknown) >= maxUnknown {
		clear(k.unknown)
	}
	k.unknown[key] = k.now().Add(unknownFor)
}

func (k *publishableKeys) isUnknown(key string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	until, found := k.unknown[key]
	if found && !k.now().Before(until) {
		delete(k.unknown, key)
		return false
	}
	return found
}

func unknownKey() *fault.Error {
	return fault.New(fault.Unauthenticated, fault.ReasonUnauthorized, "the publishable key does not exist or is disabled").With("token", "invalid")
}

// allowOrigin lets a page of one of the origins read the response, and refuses a page of another. A
// caller that is not a page of another origin sends no Origin.
func allowOrigin(response, request http.Header, origins []string) error {
	sent := request.Values("Origin")
	if len(sent) == 0 {
		return nil
	}
	if len(sent) > 1 || !slices.Contains(origins, sent[0]) {
		return fault.New(fault.Forbidden, fault.ReasonForbidden,
			"the publishable key does not allow pages of this origin; add the origin to the key")
	}
	exposeTo(response, sent[0])
	return nil
}

// exposeTo lets the pages of an origin read a response with its headers; "*" means every origin.
func exposeTo(response http.Header, origin string) {
	response.Set("Access-Control-Allow-Origin", origin)
	response.Set("Access-Control-Expose-Headers", "Deprecation, ETag, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, "+modeHeader+", Retry-After, Sunset, X-Request-Id")
}

// exposeError lets the pages of every origin read an error, so that the author of a page sees what is
// wrong. An error tells a page nothing that any other program with the same key could not read.
func (e *Edge) exposeError(response http.Header) {
	if e.keys != nil && response.Get("Access-Control-Allow-Origin") == "" {
		exposeTo(response, "*")
	}
}

// preflight answers the question of a browser whether a page can send a request (CORS). It reports
// whether the request is such a question. Every origin can send every request, even to an operation that
// refuses publishable keys or to a path that does not exist: the request itself then gets an error that
// the page can read. The key is not part of the question.
func (e *Edge) preflight(w http.ResponseWriter, r *http.Request) bool {
	if e.keys == nil || r.Method != http.MethodOptions || r.Header.Get("Origin") == "" || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE")
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, X-Request-Id")
	h.Set("Access-Control-Max-Age", "7200")
	w.WriteHeader(http.StatusNoContent)
	return true
}
