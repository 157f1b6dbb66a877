package edge

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/ratelimit"
)

// feedLimit is how many reads of feeds one network can make in any 60 seconds.
const feedLimit = 60

// Feed is a collection of documents at secret addresses outside of the interface's base: Prefix, the secret,
// Suffix. The secret permits the read instead of a token, and is never part of logs, metrics, traces or the
// request log.
type Feed struct {
	Prefix, Suffix string
	// Type is the media type of the documents.
	Type string
	// Read returns the document with a secret. The fault is fault.NotFound if there is none.
	Read func(ctx context.Context, secret string) ([]byte, error)
}

// ServeFeed adds a feed.
func (e *Edge) ServeFeed(f Feed) {
	e.feed = &feed{Feed: f, route: &Route{Method: http.MethodGet, Path: f.Prefix + "{secret}" + f.Suffix, Public: true}}
}

// feed is a feed with the route under which its reads are recorded.
type feed struct {
	Feed
	route *Route
}

// isFeed reports whether a request is for a document of the feed.
func (e *Edge) isFeed(r *http.Request) bool {
	return e.feed != nil && strings.HasPrefix(r.URL.Path, e.feed.Prefix)
}

// serveFeed answers with a document of the feed. The reads of a network are counted before the secret is looked
// up, because anybody can invent secrets.
func (e *Edge) serveFeed(w http.ResponseWriter, r *http.Request) {
	s := exchangeOf(r.Context())
	s.route = e.feed.route
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		e.failMethod(w, r, http.MethodGet, http.MethodHead)
		return
	}
	network := ratelimit.Network(e.opts.Proxies.ClientAddress(r))
	err := e.opts.Count(r.Context(), w.Header(), "feeds "+network, feedLimit)
	var document []byte
	if err == nil {
		document, err = e.readFeed(r)
	}
	if err != nil {
		e.Fail(w, r, fault.From(err))
		return
	}
	h := w.Header()
	h.Set("Content-Type", e.feed.Type)
	h.Set("Content-Length", strconv.Itoa(len(document)))
	_, _ = w.Write(document)
}

// readFeed returns the document at the path of a request.
func (e *Edge) readFeed(r *http.Request) ([]byte, error) {
	secret, found := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, e.feed.Prefix), e.feed.Suffix)
	if !found || checkPath(map[string]string{"secret": secret}) != nil {
		return nil, fault.New(fault.NotFound, fault.ReasonNotFound, "this address does not exist, or it was revoked")
	}
	document, err := e.feed.Read(r.Context(), secret)
	if fault.Is(err, fault.NotFound) {
		err = fault.New(fault.NotFound, fault.ReasonNotFound, "this address does not exist, or it was revoked")
	}
	return document, err
}
