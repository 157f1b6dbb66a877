package gatewayb

import (
	"maps"
	"strings"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/fault"
)

// reasonForbidden is the error code of a missing permission on Interface B, and of other refusals
// except NETWORK_NOT_ALLOWED.
const reasonForbidden = "FORBIDDEN"

// faultBody is the error body of Interface B.
type faultBody struct {
	Error faultDetail `json:"error"`
}

type faultDetail struct {
	Code    string         `json:"code"`
	Details map[string]any `json:"details"`
	Message string         `json:"message"`
}

// codeOf returns the error code of a fault.
func codeOf(f *fault.Error) string {
	if f.Kind == fault.Forbidden && f.Reason != fault.ReasonNetworkNotAllowed {
		return reasonForbidden
	}
	return f.Reason
}

// appendFault writes the error body of Interface B.
func appendFault(b []byte, f *fault.Error) []byte {
	f = rename(f, fieldNames())
	detail := faultDetail{Code: codeOf(f), Message: f.Message, Details: edge.Details(f)}
	if f.Kind == fault.Forbidden {
		if permission := f.Meta["scope"]; permission != "" {
			detail.Message = "the API key lacks the permission " + permission
		}
	}
	for name := range f.Meta {
		if public := camel(name); public != name {
			detail.Details[public] = detail.Details[name]
			delete(detail.Details, name)
		}
	}
	return edge.AppendBody(b, faultBody{detail})
}

// fieldNames maps the services' field names to those of Interface B, unless the name is just the
// same in camelCase. An operation whose body differs from the service's request renames further
// fields itself; see renameFields.
func fieldNames() map[string]string {
	return map[string]string{
		"client_id": "apiKey", "client_secret": "apiSecret",
		"page_size": "perPage", "page_token": "cursor", "offset": "page",
		"duration_minutes": "duration", "local_start": "startsAt", "local_end": "endsAt", "tax_rate_basis_points": "taxRate",
		"pass_type_id": "passId", "query": "q", "span.from": "from", "span.to": "to", "interval_unit": "interval", "item_id": "mediaId",
	}
}

// rename gives the fields of a fault their public names. names maps whole paths or single members of
// paths. Other names change from snake_case to camelCase, which leaves public names as they are.
func rename(f *fault.Error, names map[string]string) *fault.Error {
	public := make(map[string]string, len(f.Fields))
	for _, field := range f.Fields {
		public[field.Field] = publicName(field.Field, names)
	}
	return f.Rename(public)
}

// renameFields gives the fields of a call's error their public names. special extends or overrides
// fieldNames for the operation.
func renameFields(err error, special map[string]string) error {
	names := fieldNames()
	maps.Copy(names, special)
	return rename(fault.From(err), names)
}

// renamePaths replaces parts of the paths of fields in a call's error. pairs are as for strings.NewReplacer.
func renamePaths(err error, pairs ...string) error {
	f, parts := fault.From(err), strings.NewReplacer(pairs...)
	names := make(map[string]string, len(f.Fields))
	for _, field := range f.Fields {
		names[field.Field] = publicName(parts.Replace(field.Field), fieldNames())
	}
	return f.Rename(names)
}

func publicName(path string, names map[string]string) string {
	if name, ok := names[path]; ok {
		return name
	}
	segments := strings.Split(path, ".")
	for i, segment := range segments {
		member, index, _ := strings.Cut(segment, "[")
		if name, ok := names[member]; ok {
			member = name
		} else {
			member = camel(member)
		}
		if index != "" {
			member += "[" + index
		}
		segments[i] = member
	}
	return strings.Join(segments, ".")
}

func camel(snake string) string {
	parts := strings.Split(snake, "_")
	for i, part := range parts[1:] {
		if part != "" {
			parts[i+1] = strings.ToUpper(part[:1]) + part[1:]
		}
	}
	return strings.Join(parts, "")
}
