package media

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"

	"reservation.dev/platform/fault"
)

// Handler serves uploads and playback. Every address under it is a credential: it is signed, and the
// request needs no token. Pages of any origin can use it.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("PUT "+uploadPath+"{token}/{part}", s.serve(uploadPath+"{token}/{part}", s.servePart))
	mux.HandleFunc("GET "+playPath+"{token}", s.serve(playPath+"{token}", withoutBody(s.servePlay)))
	mux.HandleFunc("GET "+coverPath+"{token}", s.serve(coverPath+"{token}", withoutBody(s.serveCover)))
	mux.HandleFunc("OPTIONS /", s.serve("none", servePreflight))
	mux.HandleFunc("/", s.serve("none", func(_ http.ResponseWriter, r *http.Request) error {
		if r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodPut {
			return refuse(http.StatusMethodNotAllowed, fault.ReasonMethodNotAllowed, "use GET, HEAD or PUT")
		}
		return errBadLink()
	}))
	return mux
}

// failed is a refused request for a file.
type failed struct {
	status int
	fault  *fault.Error
}

// Error implements error.
func (f failed) Error() string { return f.fault.Error() }

func refuse(status int, reason, message string) error {
	return failed{status, fault.Refuse(reason, message)}
}

// errBadLink responds to everything that is not a valid link. It does not say why.
func errBadLink() error {
	return failed{http.StatusNotFound, fault.New(fault.NotFound, fault.ReasonNotFound, "this link is not valid")}
}

// ReasonLinkExpired is the reason of a link after its time.
const ReasonLinkExpired = "LINK_EXPIRED"

func errLinkExpired() error {
	return failed{http.StatusGone, fault.Refuse(ReasonLinkExpired, "this link has expired; create another one")}
}

// serve returns the handler of a route. Its errors become responses.
func (s *Server) serve(route string, handle func(w http.ResponseWriter, r *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		began := s.now()
		rec := &recorder{ResponseWriter: w}
		setHeaders(w.Header())
		s.allowWrites(rec) // the deadline of an earlier request on the connection can be over
		err := handle(rec, r)
		s.endBody(rec, r)
		if err != nil {
			s.fail(rec, r, err)
		}
		s.allowWrites(rec)
		s.metrics.observe(route, rec.status(), rec.sent, s.now().Sub(began))
	}
}

// withoutBody refuses a request for a file that has a body. A deadline for the body would also end the
// response.
func withoutBody(handle func(w http.ResponseWriter, r *http.Request) error) func(w http.ResponseWriter, r *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		if r.ContentLength != 0 {
			return refuse(http.StatusBadRequest, fault.ReasonInvalidParameter, "send the request without a body")
		}
		return handle(w, r)
	}
}

// unreadTime is how long the server waits for the rest of a body that the handler has not read.
const unreadTime = 5 * time.Second

// endBody bounds the time in which the rest of a body can arrive. Otherwise a sender without a valid link
// could hold a connection without limit. The server sets another deadline for the next request.
func (s *Server) endBody(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(min(unreadTime, s.settings.Stalled)))
	}
}

// allowWrites lets the rest of a response be written until MEDIA_STALLED is over.
func (s *Server) allowWrites(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.settings.Stalled))
}

// setHeaders sets the headers of every response. A page that shows a file in a frame runs nothing of it.
func setHeaders(h http.Header) {
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Expose-Headers", "Accept-Ranges, Content-Range, Content-Length, ETag, Retry-After")
	h.Set("Cache-Control", "private, no-store")
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'") // a PDF has another one
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
}

// servePreflight responds to the question of a browser whether a page can send a request.
func servePreflight(w http.ResponseWriter, _ *http.Request) error {
	h := w.Header()
	h.Set("Access-Control-Allow-Methods", "GET, HEAD, PUT")
	h.Set("Access-Control-Allow-Headers", "Content-Type, Content-Digest, Range, If-Range, If-None-Match")
	h.Set("Access-Control-Max-Age", "86400")
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// fail responds with an error as JSON, unless the response has begun. An unknown error is logged.
func (s *Server) fail(w *recorder, r *http.Request, err error) {
	f := statusOf(err)
	if f.fault.Kind == fault.Internal && r.Context().Err() == nil {
		s.log.LogAttrs(r.Context(), slog.LevelError, "a request for a file failed", slog.String("method", r.Method), slog.String("error", err.Error()))
	}
	if w.code != 0 {
		return
	}
	h := w.Header()
	for _, name := range []string{"ETag", "Content-Disposition", "Content-Range", "Accept-Ranges", "Content-Length"} {
		h.Del(name)
	}
	h.Set("Cache-Control", "private, no-store")
	h.Set("Content-Type", "application/json")
	h.Set("Connection", "close") // the rest of a body is not read
	if f.fault.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int((f.fault.RetryAfter+time.Second-1)/time.Second)))
	}
	message := f.fault.Message
	if f.fault.Kind == fault.Internal {
		message = "internal error"
	}
	body, err := json.Marshal(map[string]any{"error": map[string]string{"code": f.fault.Reason, "message": message}})
	if err != nil {
		body = nil
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(f.status)
	_, _ = w.Write(body)
}

// statusOf returns the status with which an error is answered.
func statusOf(err error) failed {
	var f failed
	if errors.As(err, &f) {
		return f
	}
	known := fault.From(err)
	status := http.StatusInternalServerError
	switch known.Kind {
	case fault.NotFound:
		status = http.StatusNotFound
	case fault.Refused, fault.Conflict:
		status = http.StatusConflict
	case fault.RateLimited:
		status = http.StatusTooManyRequests
	case fault.Unavailable:
		status = http.StatusServiceUnavailable
		if known.RetryAfter == 0 {
			known = known.After(time.Second)
		}
	}
	switch known.Reason {
	case ReasonNotEntitled:
		status = http.StatusForbidden
	case ReasonTypeNotSupported:
		status = http.StatusUnsupportedMediaType
	case ReasonFileTooLarge:
		status = http.StatusRequestEntityTooLarge
	case ReasonUploadExpired:
		status = http.StatusGone
	case ReasonChecksumMismatch:
		status = http.StatusBadRequest
	}
	return failed{status, known}
}

// recorder notes the status and the size of a response.
type recorder struct {
	http.ResponseWriter
	code int
	sent int64
}

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(code int) {
	if r.code == 0 && code >= http.StatusOK {
		r.code = code
	}
	r.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (r *recorder) Write(b []byte) (int, error) {
	if r.code == 0 {
		r.code = http.StatusOK
	}
	n, err := r.ResponseWriter.Write(b)
	r.sent += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController set deadlines.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func (r *recorder) status() int {
	if r.code == 0 {
		return http.StatusOK
	}
	return r.code
}

// slot takes a slot for a request of a company or a player.
func slot[K comparable](of *slots[K], holder K) (release func(), err error) {
	if release = of.take(holder); release == nil {
		return nil, errBusy()
	}
	return release, nil
}

// serveHTTP serves h at an address until ctx ends, and then waits at most drain for requests to finish. The
// handlers set the deadlines of bodies.
func serveHTTP(ctx context.Context, addr string, h http.Handler, drain time.Duration, listening func(net.Addr)) error {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	srv := newHTTPServer(h)
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
		defer cancel()
		if srv.Shutdown(limit) != nil {
			_ = srv.Close()
		}
	})
	listening(ln.Addr())
	err = srv.Serve(ln)
	if !errors.Is(err, http.ErrServerClosed) {
		stop()
		return err
	}
	<-done
	return nil
}

func newHTTPServer(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 120 * time.Second, MaxHeaderBytes: 16 << 10}
}
