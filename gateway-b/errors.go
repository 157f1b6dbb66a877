package gatewayb

import (
	"encoding/json"
	"strings"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/fault"
)

// reasonForbidden is what Interface B calls a missing permission.
const reasonForbidden = "FORBIDDEN"

// appendFault writes the error body of Interface B.
func appendFault(b []byte, f *fault.Error) []byte {
	code, message := f.Reason, f.Message
	if f.Kind == fault.Forbidden {
		code = reasonForbidden
		if permission := f.Meta["scope"]; permission != "" {
			message = "the API key lacks the permission " + permission
		}
	}
	details := edge.Details(f)
	for name := range f.Meta {
		if public := camel(name); public != name {
			details[public] = details[name]
			delete(details, name)
		}
	}
	text, err := json.Marshal(map[string]any{
		"error": map[string]any{"code": code, "message": message, "details": details},
	})
	if err != nil { // strings and maps of strings: cannot happen
		return append(b, `{"error":{"code":"INTERNAL_ERROR","message":"internal error","details":{}}}`...)
	}
	return append(b, text...)
}

// named gives the fields of a service's fault the names that this interface has:
// those of special (a path, or the last member of one), else snake_case written
// as camelCase.
func named(err error, special map[string]string) error {
	f := fault.From(err)
	if f == nil {
		return nil
	}
	names := map[string]string{}
	for _, field := range f.Fields {
		names[field.Field] = publicName(field.Field, special)
	}
	return f.Rename(names)
}

func publicName(path string, special map[string]string) string {
	if name, ok := special[path]; ok {
		return name
	}
	segments := strings.Split(path, ".")
	for i, segment := range segments {
		member, index, _ := strings.Cut(segment, "[")
		if name, ok := special[member]; ok {
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
