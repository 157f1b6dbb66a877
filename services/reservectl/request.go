package reservectl

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// request is the request of a call. Its flags and arguments write into the message.
type request struct {
	call    call
	message protoreflect.Message
	// labels are the names of the arguments, and arguments their values.
	labels, arguments []string
	key               string // the idempotency key
}

func newRequest(c call) *request {
	r := &request{call: c, message: newMessage(c.descriptor().Input()), labels: strings.Fields(c.use)[1:]}
	for name, text := range c.fixed {
		if err := r.field(name).Set(text); err != nil {
			panic(err) // the tables have only valid values
		}
	}
	return r
}

// field returns the field of the request with a path, as a flag.
func (r *request) field(path string) *fieldFlag {
	outer, name, nested := strings.Cut(path, ".")
	if !nested {
		return &fieldFlag{message: func() protoreflect.Message { return r.message }, field: r.message.Descriptor().Fields().ByName(protoreflect.Name(path))}
	}
	parent := r.message.Descriptor().Fields().ByName(protoreflect.Name(outer))
	return &fieldFlag{
		// The request has the message only if one of its fields is set.
		message: func() protoreflect.Message { return r.message.Mutable(parent).Message() },
		field:   parent.Message().Fields().ByName(protoreflect.Name(name)),
	}
}

// paths returns the fields that are flags, in the order of the proto.
func (r *request) paths() []string {
	var paths []string
	left := slices.Concat(pagingFields, r.call.args, r.call.hidden)
	add := func(d protoreflect.MessageDescriptor, prefix string) {
		for i := range d.Fields().Len() {
			path := prefix + string(d.Fields().Get(i).Name())
			if _, fixed := r.call.fixed[path]; !fixed && path != r.call.into && !slices.Contains(left, path) {
				paths = append(paths, path)
			}
		}
	}
	d := r.message.Descriptor()
	if r.call.into != "" {
		add(d.Fields().ByName(protoreflect.Name(r.call.into)).Message(), r.call.into+".")
	}
	add(d, "")
	return paths
}

func (r *request) addFlags(c *cobra.Command) {
	for _, path := range r.paths() {
		f := r.field(path)
		c.Flags().Var(f, f.name(), f.usage())
		if f.isBool() {
			c.Flags().Lookup(f.name()).NoOptDefVal = "true"
		}
		completeFlag(c, f.name(), f.choices())
	}
}

func (r *request) setArguments(values []string) error {
	r.arguments = values
	var faults []error
	for i, path := range r.call.args {
		if err := r.field(path).Set(values[i]); err != nil {
			faults = append(faults, fmt.Errorf("%s %w", r.labels[i], err))
		}
	}
	if err := errors.Join(faults...); err != nil {
		return usageError{err}
	}
	return nil
}

// checkOneOf requires one of the flags of the call's oneOf, and a value for each that is given.
func (r *request) checkOneOf(command *cobra.Command) error {
	given := false
	for _, path := range r.call.oneOf {
		f := r.field(path)
		if !command.Flags().Changed(f.name()) {
			continue
		}
		if given = true; !r.message.Has(f.field) {
			return usageError{fmt.Errorf("--%s must not be empty or 0", f.name())}
		}
	}
	if given || len(r.call.oneOf) == 0 {
		return nil
	}
	return usageError{fmt.Errorf("one of --%s is required", strings.Join(r.flagNames(r.call.oneOf), ", --"))}
}

// flagNames returns the flags of the fields with the given paths.
func (r *request) flagNames(paths []string) []string {
	names := make([]string, len(paths))
	for i, path := range paths {
		names[i] = r.field(path).name()
	}
	return names
}

// nameOf returns what the caller wrote for a field of the request: the name of an argument, or a
// flag with the rest of the path, as in "--line[0].spaces".
func (r *request) nameOf(path string) string {
	if i := slices.Index(r.call.args, path); i >= 0 {
		return r.labels[i]
	}
	for _, known := range r.paths() {
		if rest, ok := strings.CutPrefix(path, known); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return "--" + r.field(known).name() + rest
		}
	}
	return path
}
