// Package bounds checks requests against the limits that their protos declare with
// buf.validate: the length of texts, bytes, lists and maps. Services and gateways have no
// other limits on the size of a field.
package bounds

import (
	"errors"
	"fmt"
	"sync"
	"unicode/utf8"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"buf.build/go/protovalidate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"reservation.dev/platform/fault"
)

// The rules of a fault.Field about an exceeded bound.
const (
	RuleItems  = "max_items"
	RuleLength = "max_length"
)

// Bound is the largest size of one field. A zero is a limit that is not declared.
type Bound struct {
	// Items limits a list or a map.
	Items int
	// Characters and Bytes limit a text or each item of a list. Bytes also limits a field
	// of bytes.
	Characters, Bytes int
}

// Of returns the declared bound of a field.
func Of(fd protoreflect.FieldDescriptor) Bound {
	rules, _ := proto.GetExtension(fd.Options(), validate.E_Field).(*validate.FieldRules)
	b := lengthOf(rules)
	switch {
	case fd.IsMap():
		b.Items = int(rules.GetMap().GetMaxPairs())
	case fd.IsList():
		b = lengthOf(rules.GetRepeated().GetItems())
		b.Items = int(rules.GetRepeated().GetMaxItems())
	}
	return b
}

func lengthOf(rules *validate.FieldRules) Bound {
	return Bound{
		Characters: int(rules.GetString().GetMaxLen()),
		Bytes:      int(max(rules.GetString().GetMaxBytes(), rules.GetBytes().GetMaxLen())),
	}
}

// Exceeds returns the rule that a text breaks and a phrase for fault.Field.Message. Both
// are "" if the text is within the bound.
func (b Bound) Exceeds(s string) (rule, phrase string) {
	switch {
	case b.Bytes > 0 && len(s) > b.Bytes:
		return RuleLength, fmt.Sprintf("must be at most %d bytes", b.Bytes)
	// The length in bytes is compared first because most texts are short.
	case b.Characters > 0 && len(s) > b.Characters && utf8.RuneCountInString(s) > b.Characters:
		return RuleLength, fmt.Sprintf("must be at most %d characters", b.Characters)
	}
	return "", ""
}

// TooMany returns the phrase for fault.Field.Message about a list with too many items.
func (b Bound) TooMany() string { return fmt.Sprintf("must have at most %d items", b.Items) }

// Checker checks messages. It is safe for concurrent use.
type Checker struct {
	validator protovalidate.Validator
	failFast  protovalidate.ValidationOption
	plans     sync.Map // *plan by the full name of a message
}

// NewChecker returns a checker for messages of any type.
func NewChecker() (*Checker, error) {
	validator, err := protovalidate.New()
	if err != nil {
		return nil, fmt.Errorf("bounds: %w", err)
	}
	return &Checker{validator: validator, failFast: protovalidate.WithFailFast()}, nil
}

// Prepare reads the declarations of a message. Without it, the message's first check takes
// a millisecond longer. It returns an error if a declaration is invalid.
func (c *Checker) Prepare(message protoreflect.MessageType) error {
	return c.Check(message.Zero().Interface())
}

// wholeSize is the size in bytes of the largest message for which Check reports every
// violation. For a larger message, Check reports only the first.
const wholeSize = 64 << 10

// Check returns a VALIDATION_ERROR that lists the fields of m that exceed their bounds. If
// a list has too many items, Check does not check the items.
func (c *Checker) Check(m proto.Message) error {
	first := c.validator.Validate(m, c.failFast)
	if first == nil {
		return nil
	}
	if proto.Size(m) > wholeSize {
		return faultOf(first)
	}
	return faultOf(c.validator.Validate(m))
}

// faultOf converts the violations of a protovalidate error to a fault.
func faultOf(err error) error {
	var invalid *protovalidate.ValidationError
	if !errors.As(err, &invalid) {
		return fmt.Errorf("bounds: %w", err)
	}
	var checks fault.Checks
	for _, v := range invalid.Violations {
		rule, phrase := describe(v)
		checks.Add(protovalidate.FieldPathString(v.Proto.GetField()), rule, phrase)
	}
	return checks.Err()
}

// describe returns the rule that a violation breaks and a phrase for fault.Field.Message.
func describe(v *protovalidate.Violation) (rule, phrase string) {
	most := int(v.RuleValue.Uint())
	switch v.Proto.GetRuleId() {
	case "repeated.max_items", "map.max_pairs":
		return RuleItems, Bound{Items: most}.TooMany()
	case "string.max_bytes", "bytes.max_len":
		return RuleLength, fmt.Sprintf("must be at most %d bytes", most)
	}
	return RuleLength, fmt.Sprintf("must be at most %d characters", most)
}
