package gatewaya

import (
	"encoding/json"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/fault"
)

// appendFault writes the error body of Interface A.
func appendFault(b []byte, f *fault.Error) []byte {
	return appendBody(b, map[string]any{
		"message": f.Message,
		"error":   map[string]any{"code": f.Reason, "message": f.Message, "details": edge.Details(f)},
	})
}

// appendOAuthFault writes the error body of RFC 6749, 5.2, for form-encoded
// token requests.
func appendOAuthFault(b []byte, f *fault.Error) []byte {
	return appendBody(b, map[string]any{
		"message": f.Message, "error": oauthCode(f), "error_description": f.Message,
	})
}

func oauthCode(f *fault.Error) string {
	switch {
	case f.Kind == fault.Unauthenticated:
		return "invalid_client"
	case f.Reason == reasonUnsupportedGrant:
		return "unsupported_grant_type"
	case f.Reason == reasonInvalidScope:
		return "invalid_scope"
	case f.Kind == fault.RateLimited || f.Kind == fault.Unavailable:
		return "temporarily_unavailable"
	case f.Kind == fault.Internal:
		return "server_error"
	}
	return "invalid_request"
}

func appendBody(b []byte, body map[string]any) []byte {
	text, err := json.Marshal(body)
	if err != nil { // strings and maps of strings: cannot happen
		return append(b, `{"message":"internal error","error":{"code":"INTERNAL_ERROR","message":"internal error","details":{}}}`...)
	}
	return append(b, text...)
}
