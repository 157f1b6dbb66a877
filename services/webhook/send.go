package webhook

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"time"

	"reservation.dev/services/webhook/message"
)

const (
	// storedResponse is the number of bytes of a response that the log keeps.
	storedResponse = 4 << 10
	// drainedResponse is how many more bytes of a failed response are read, so that the connection
	// can be reused; longestResponse is the largest allowed response.
	drainedResponse = 64 << 10
	longestResponse = 1 << 20
	longestHead     = 64 << 10
)

// result is the result of one request.
type result struct {
	job        *job
	at         time.Time
	duration   time.Duration
	failure    string // class; "": it succeeded
	message    string // what went wrong
	status     int    // 0: no answer
	response   []byte
	reused     bool
	retryAfter time.Duration
	signers    []message.Signer
}

// attempt sends a delivery once.
func (e *Engine) attempt(j *job) *result {
	r := &result{job: j, at: e.now().UTC().Truncate(time.Microsecond)}
	r.signers = j.target.signersAt(r.at)
	began := time.Now()
	defer func() {
		r.duration = time.Since(began)
		e.metrics.observe(r)
	}()
	traced, span := startAttempt(e.work, j)
	defer func() { endAttempt(span, r) }()
	ctx, cancel := context.WithTimeout(traced, e.settings.Timeout)
	defer cancel()
	if err := e.exchange(ctx, r); err != nil {
		r.failure, r.message = classify(err, ctx.Err())
	}
	return r
}

// longestIdle is how long an idle connection is kept. Servers keep connections for longer, so an
// endpoint does not close one while a request is on its way. If it did, the endpoint might have
// read the request, so the request would not be resent and the attempt would fail.
const longestIdle = time.Second

// errSentAgain ends an attempt that the transport would send a third time.
var errSentAgain = errors.New("the request was sent twice")

// resendable returns a GetBody that works once. The transport calls it to resend a request of which
// no byte was sent, or which an HTTP/2 endpoint says it has not processed (GOAWAY, REFUSED_STREAM).
// Without the limit, an endpoint that always says so would get the request again and again.
func resendable(body []byte) func() (io.ReadCloser, error) {
	again := 0
	return func() (io.ReadCloser, error) {
		if again++; again > 1 {
			return nil, errSentAgain
		}
		return io.NopCloser(bytes.NewReader(body)), nil
	}
}

// exchange sends the request and reads the response into r. A status that is not 2xx is a failure,
// but not an error.
func (e *Engine) exchange(ctx context.Context, r *result) error {
	j := r.job
	head := make(http.Header, 8)
	for _, h := range message.Sign(e.settings.Issuer, r.signers, j.body, r.at) {
		head[h.Name] = []string{h.Value}
	}
	body := j.body.JSON
	req := (&http.Request{
		Method: http.MethodPost, URL: j.target.url, Host: j.target.url.Host, Header: head,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: int64(len(body)),
		Body:    io.NopCloser(bytes.NewReader(body)),
		GetBody: resendable(body),
	}).WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) { r.reused = info.Reused },
	}))
	resp, err := e.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	r.status = resp.StatusCode
	if err := r.read(resp.Body); err != nil {
		return err
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		r.failure, r.message = failureStatus, "responded with status "+strconv.Itoa(resp.StatusCode)
		if resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable {
			r.retryAfter = retryAfter(resp.Header.Get("Retry-After"), r.at)
		}
	}
	return nil
}

// read keeps the beginning of a response and discards the rest. If the status is not 2xx, it does
// not wait for the end, because the attempt has already failed.
func (r *result) read(body io.Reader) error {
	kept, err := io.ReadAll(io.LimitReader(body, storedResponse))
	r.response = kept
	if err != nil {
		return err
	}
	most := int64(longestResponse)
	if r.status < 200 || r.status > 299 {
		most = drainedResponse
	}
	n, err := io.Copy(io.Discard, io.LimitReader(body, most))
	if err == nil && n == longestResponse {
		err = errTooLong
	}
	return err
}

// retryAfter returns the delay in a Retry-After header; 0 if there is none or it is malformed.
func retryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseInt(strings.TrimSpace(value), 10, 32); err == nil {
		return max(time.Duration(seconds)*time.Second, 0)
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}
