package gatewaya

import (
	"reservation.dev/platform/edge"
	"reservation.dev/platform/fault"
)

// faultBody is the error body of Interface A.
type faultBody struct {
	Message string      `json:"message"`
	Error   faultDetail `json:"error"`
}

type faultDetail struct {
	Code    string         `json:"code"`
	Message string         `json:"message"`
	Details map[string]any `json:"details"`
}

// fieldNames maps the services' field names to those of Interface A.
func fieldNames() map[string]string {
	return map[string]string{
		"first_name": "firstname", "last_name": "lastname",
		"page_size": "pageSize", "start_date": "startDate", "end_date": "endDate",
	}
}

// appendFault writes the error body of Interface A.
func appendFault(b []byte, f *fault.Error) []byte {
	f = f.Rename(fieldNames())
	return edge.AppendBody(b, faultBody{
		Message: f.Message, Error: faultDetail{Code: f.Reason, Message: f.Message, Details: edge.Details(f)},
	})
}

// oauthBody is the error body of RFC 6749, section 5.2, with an additional message.
type oauthBody struct {
	Error       string `json:"error"`
	Description string `json:"error_description"`
	Message     string `json:"message"`
}

// appendOAuthFault writes the error body for form-encoded token requests.
func appendOAuthFault(b []byte, f *fault.Error) []byte {
	return edge.AppendBody(b, oauthBody{Error: oauthCode(f), Description: f.Message, Message: f.Message})
}

func oauthCode(f *fault.Error) string {
	switch {
	case f.Kind == fault.Unauthenticated:
		return "invalid_client"
	case f.Kind == fault.Forbidden:
		return "unauthorized_client"
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
