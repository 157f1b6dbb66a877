package edge

import (
	"io"
	"net/http"
	"strconv"

	"reservation.dev/platform/negotiate"
)

const (
	// maxHeld is how much of a response the edge keeps before it sends the header, in bytes. A response
	// that is not longer has an ETag and a Content-Length, even if its handler writes it in pieces.
	maxHeld = 32 << 10
	// leastCompressed is the length of the shortest body that is compressed, in bytes. A shorter one
	// fits in one packet anyway.
	leastCompressed = 1400
)

// recorder is the response to a request. It holds back the header until it knows whether the body is
// complete, so that a complete response can become a 304, and compresses the body.
type recorder struct {
	http.ResponseWriter
	exchange *exchange
	code     int
	bytes    int64 // of the body, as sent
	wrote    bool  // the handler has chosen the status
	sent     bool  // the header is sent
	held     []byte
	scratch  *[]byte     // the reusable buffer of held
	encoder  *compressor // of a response that is sent in pieces; nil: not compressed
}

// WriteHeader implements http.ResponseWriter. The header is sent later.
func (r *recorder) WriteHeader(code int) {
	if !r.wrote {
		r.wrote, r.code = true, code
	}
}

// Write implements http.ResponseWriter.
func (r *recorder) Write(b []byte) (int, error) {
	if !r.wrote && r.exchange.created {
		r.code = http.StatusCreated
	}
	r.wrote = true
	switch {
	case r.sent:
		return r.stream(b)
	case len(r.held) == 0 && r.Header().Get("Content-Length") == strconv.Itoa(len(b)):
		return len(b), r.sendWhole(b)
	case len(r.held)+len(b) <= maxHeld:
		r.hold(b)
		return len(b), nil
	}
	if err := r.sendHeld(); err != nil {
		return 0, err
	}
	return r.stream(b)
}

// hold keeps a piece of the body.
func (r *recorder) hold(b []byte) {
	if r.scratch == nil {
		r.scratch = scratches.Get().(*[]byte)
		r.held = (*r.scratch)[:0]
	}
	r.held = append(r.held, b...)
}

// release returns the buffer of the held body.
func (r *recorder) release() {
	if r.scratch != nil {
		*r.scratch, r.held = r.held[:0], nil
		scratches.Put(r.scratch)
		r.scratch = nil
	}
}

// sendHeld sends the header of a response that continues after what is held, and then what is held.
func (r *recorder) sendHeld() error {
	h := r.Header()
	if r.isCompressible() {
		h.Add("Vary", "Accept-Encoding")
		if coding := negotiate.Coding(r.exchange.request, codings()...); coding != "" {
			h.Set("Content-Encoding", coding)
			r.encoder = compressorOf(coding, wire{r})
		}
	}
	r.setCaching()
	r.send()
	defer r.release()
	_, err := r.stream(r.held)
	return err
}

// stream sends the next piece of a body whose header is sent.
func (r *recorder) stream(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	if r.encoder != nil {
		return r.encoder.Write(b)
	}
	return wire{r}.Write(b)
}

// sendWhole sends a response whose body is complete, or a 304 if the client has the same body.
func (r *recorder) sendWhole(body []byte) error {
	h, coding := r.Header(), ""
	if r.isCompressible() {
		h.Add("Vary", "Accept-Encoding")
		if len(body) >= leastCompressed {
			coding = negotiate.Coding(r.exchange.request, codings()...)
		}
	}
	r.setCaching()
	if tag := r.setETag(body, coding); tag != "" && r.isReading() && matchesTag(r.exchange.request, tag) {
		h.Del("Content-Type")
		h.Del("Content-Length")
		r.code = http.StatusNotModified
		r.send()
		return nil
	}
	if coding != "" {
		scratch := scratches.Get().(*[]byte)
		defer recycle(scratch)
		body = compress(scratch, coding, body)
		h.Set("Content-Encoding", coding)
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	r.send()
	_, err := wire{r}.Write(body)
	return err
}

// setETag sets the ETag of a resource or a list, and returns it without coding; "" if the body cannot be
// compared. The tag of a body with a secret is only the version, for If-Match.
func (r *recorder) setETag(body []byte, coding string) string {
	if r.code/100 != 2 {
		return ""
	}
	if r.isPrivate() {
		if version := r.exchange.version; version != "" {
			r.Header().Set("ETag", quoted(version, ""))
		}
		return ""
	}
	if !r.isReading() && r.exchange.version == "" {
		return ""
	}
	tag := r.exchange.etag(body)
	r.Header().Set("ETag", quoted(tag, coding))
	return tag
}

// isPrivate reports whether the response must not be compressed, cached or compared: it contains a
// secret or a token, it is a page, or it belongs to no route.
func (r *recorder) isPrivate() bool {
	route := r.exchange.route
	return route == nil || route.Scope == "" && !route.Public || route.Secret
}

// isCompressible reports whether the body can be compressed.
func (r *recorder) isCompressible() bool {
	return !r.isPrivate() && r.Header().Get("Content-Encoding") == ""
}

func (r *recorder) isReading() bool { return r.exchange.route.Method == http.MethodGet }

// setCaching lets the client keep what it read, and compare it each time before it uses it again.
func (r *recorder) setCaching() {
	if !r.isPrivate() && r.isReading() && r.code/100 == 2 {
		r.Header().Set("Cache-Control", "private, no-cache")
	}
}

// send sends the header.
func (r *recorder) send() {
	r.sent = true
	r.ResponseWriter.WriteHeader(r.code)
}

// finish sends what is left of the response.
func (r *recorder) finish() {
	defer r.release()
	switch {
	case r.sent && r.encoder != nil:
		_ = r.encoder.Close() // a connection that fails here is closed anyway
		r.encoder.recycle()
		r.encoder = nil
	case r.sent || !r.wrote:
	case len(r.held) == 0:
		r.send()
	default:
		_ = r.sendWhole(r.held)
	}
}

// discard drops what is held, so that another response can be written. It reports whether that is
// still possible.
func (r *recorder) discard() bool {
	r.release()
	if r.encoder != nil {
		r.encoder.recycle()
		r.encoder = nil
	}
	if r.sent {
		return false
	}
	r.wrote = false
	r.Header().Del("Content-Length")
	return true
}

// FlushError sends everything that is written so far, for http.ResponseController.
func (r *recorder) FlushError() error {
	if !r.sent {
		r.wrote = true
		if err := r.sendHeld(); err != nil {
			return err
		}
	}
	if r.encoder != nil {
		if err := r.encoder.Flush(); err != nil {
			return err
		}
	}
	return http.NewResponseController(r.ResponseWriter).Flush()
}

// Unwrap lets http.ResponseController reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// wire writes to the connection, and counts the bytes.
type wire struct{ r *recorder }

var _ io.Writer = wire{}

// Write implements io.Writer.
func (w wire) Write(b []byte) (int, error) {
	n, err := w.r.ResponseWriter.Write(b)
	w.r.bytes += int64(n)
	return n, err
}
