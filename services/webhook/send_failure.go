package webhook

import (
	"context"
	"errors"
	"io"
	"strings"
	"syscall"
)

// Classes of failures, as named in the log and the metrics.
const (
	failureDNS      = "dns"
	failureRefused  = "refused"
	failureTLS      = "tls"
	failureTimeout  = "timeout"
	failureBlocked  = "blocked"
	failureStatus   = "status"
	failureReset    = "reset"
	failureProtocol = "protocol"
	failureEndpoint = "endpoint" // not attempted
)

var errTooLong = errors.New("the response is longer than 1 MiB")

// classify returns the class of an exchange's error, and a phrase for the log. ended is the error
// of the exchange's own context.
func classify(err, ended error) (failure, message string) {
	var dns dnsError
	var handshake tlsError
	var timeout interface{ Timeout() bool }
	switch {
	case errors.Is(err, errBlocked):
		return failureBlocked, "the address is not public"
	case errors.Is(ended, context.DeadlineExceeded), errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return failureTimeout, "exceeded the time limit"
	case errors.As(err, &dns):
		return failureDNS, phrase(dns)
	case errors.As(err, &handshake):
		return failureTLS, phrase(handshake)
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return failureRefused, "the connection was refused"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return failureReset, "the connection ended before the response was complete"
	case errors.Is(err, errTooLong):
		return failureProtocol, errTooLong.Error()
	}
	return failureProtocol, phrase(err)
}

// phrase returns an error's text without the method and the URL.
func phrase(err error) string {
	text := err.Error()
	if i := strings.LastIndex(text, "\": "); i >= 0 {
		text = text[i+3:] // of a url.Error
	}
	return strings.ToValidUTF8(strings.ReplaceAll(text[:min(len(text), 300)], "\x00", ""), "\ufffd")
}
