package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// Error is a refusal by the platform. Decide by Code, which is stable: docs/ERRORS.md lists the codes.
type Error struct {
	Status    int            // the HTTP status
	Code      string         // for example "EVENT_FULL"; empty if the response is not the platform's
	Message   string         // for people
	Details   map[string]any // for example "field" and "rule"
	RequestID string         // quote it when you report a problem
	// RetryAfter is how long the platform asks to wait before the next attempt.
	RetryAfter time.Duration
}

func (e *Error) Error() string {
	return fmt.Sprintf("%d %s: %s (request %s)", e.Status, e.Code, e.Message, e.RequestID)
}

// CodeOf returns the code of an error, or "" if the error is not a refusal by the platform.
func CodeOf(err error) string {
	var refusal *Error
	if errors.As(err, &refusal) {
		return refusal.Code
	}
	return ""
}

func statusOf(err error) int {
	var refusal *Error
	if errors.As(err, &refusal) {
		return refusal.Status
	}
	return 0
}

// newError returns the error of a refusal.
func newError(resp *http.Response, now time.Time) *Error {
	e := &Error{Status: resp.StatusCode, Message: http.StatusText(resp.StatusCode), RequestID: resp.Header.Get("X-Request-Id")}
	e.RetryAfter = retryAfter(resp.Header.Get("Retry-After"), now)
	var body struct {
		Error struct {
			Code, Message string
			Details       map[string]any
		}
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, mostErrorBytes))
	if err == nil && json.Unmarshal(text, &body) == nil && body.Error.Code != "" {
		e.Code, e.Message, e.Details = body.Error.Code, body.Error.Message, body.Error.Details
	}
	return e
}

// retryAfter reads a Retry-After header: seconds, or the date of a proxy.
func retryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(value); err == nil {
		return max(0, time.Duration(seconds)*time.Second)
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return max(0, at.Sub(now))
}
