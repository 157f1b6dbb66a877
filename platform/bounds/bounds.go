// Package bounds checks requests against the bounds that their protos declare with
// buf.validate: the length of texts, bytes, lists and maps. It is the one reader of
// these declarations: services and edges know no other limit on the size of a field.
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

// The rules of a fault.Field about a bound.
const (
	RuleItems  = "max_items"
	RuleLength = "max_length"
)

// Bound is what one field may hold; 0: not declared.
type Bound struct {
	// Items bounds a list or a map.
	Items int
	// Characters and Bytes bound a text, or each item of a list. Bytes also bounds
	// a field of bytes.
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

// Exceeds returns the rule that a text breaks and a phrase for fault.Field.Message;
// "": the text is within the bound.
func (b Bound) Exceeds(s string) (rule, phrase string) {
	switch {
	case b.Bytes > 0 && len(s) > b.Bytes:
		return RuleLength, fmt.Sprintf("must be at most %d bytes", b.Bytes)
	// A text has no more characters than bytes, and most are short.
	case b.Characters > 0 && len(s) > b.Characters && utf8.RuneCountInString(s) > b.Characters:
		return RuleLength, fmt.Sprintf("must be at most %d characters", b.Characters)
	}
	return "", ""
}

// TooMany returns the phrase about a list with more items than the bound.
func (b Bound) TooMany() string { return fmt.Sprintf("must have at most %d items", b.Items) }

// Checker checks messages. It can be used by many goroutines at once.
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

// Prepare reads the declarations of a message before its first check, which would
// otherwise take a millisecond longer. It returns an error if a declaration has no
// meaning.
func (c *Checker) Prepare(message protoreflect.MessageType) error {
	return c.Check(message.Zero().Interface())
}

// wholeSize is the largest message, in bytes, in which Check looks for every
// violation. It reports only the first violation of a larger message.
const wholeSize = 64 << 10

// Check returns a VALIDATION_ERROR about the fields of m that exceed their bounds.
// A list that is too long is refused before its items are checked.
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

// faultOf returns the violations as a fault.
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

// describe returns the rule that a violation breaks, and a phrase about it.
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
