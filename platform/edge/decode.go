package edge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"reservation.dev/platform/bounds"
	"reservation.dev/platform/fault"
)

const (
	// maxDepth is the deepest nesting of a request body.
	maxDepth = 32
	// maxMembers is the largest number of members of one object. It is far above what any message
	// has, because unknown members are ignored.
	maxMembers = 1000
	// maxIgnored is the largest number of values in a body that are ignored. A megabyte could hold
	// 500,000 of them, which take a quarter of a second to skip.
	maxIgnored = 10_000
)

// DecodeJSON fills m, an empty message, from the JSON object in body. Members are named by
// json_name, and unknown ones are ignored. A null member is treated as absent, except the nullable
// values of reservation.edge.v1.
//
// A body that is not a JSON object, is not UTF-8 or has a member twice is INVALID_JSON. A member of
// the wrong type is a VALIDATION_ERROR with the rule "type". A member beyond the bound in its proto
// is a VALIDATION_ERROR with a rule of package bounds. The error names all such members, up to
// fault.MaxFields. After a list that is too long, the rest of the body is not read.
func DecodeJSON(body []byte, m proto.Message) error {
	if !utf8.Valid(body) {
		return invalidJSON("the body is not valid UTF-8")
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return invalidJSON("the body is empty; send a JSON object")
	}
	if loneSurrogate(body) {
		return invalidJSON("a string contains half of a surrogate pair, such as \\ud800")
	}
	d := decoder{dec: json.NewDecoder(bytes.NewReader(body))}
	d.dec.UseNumber()
	tok, err := d.dec.Token()
	if err != nil {
		return syntaxFault(err)
	}
	if tok != json.Delim('{') {
		return invalidJSON("the body must be a JSON object")
	}
	if err := d.object(m.ProtoReflect(), "", 1); err != nil {
		return err
	}
	if _, err := d.dec.Token(); !errors.Is(err, io.EOF) {
		return invalidJSON("the body continues after the JSON object")
	}
	return d.wrong.Err()
}

// loneSurrogate reports whether an escape in body is only half of a surrogate pair, such as \ud800.
// encoding/json would replace it by another character.
func loneSurrogate(body []byte) bool {
	for {
		i := bytes.IndexByte(body, '\\')
		if i < 0 || i+1 >= len(body) {
			return false
		}
		unit, rest := escaped(body[i:])
		if utf16.IsSurrogate(unit) {
			low, after := escaped(rest)
			if utf16.DecodeRune(unit, low) == utf8.RuneError {
				return true
			}
			rest = after
		}
		body = rest
	}
}

// escaped reads the \u escape at the start of body, and returns the rest of body. unit is 0 for any
// other escape.
func escaped(body []byte) (unit rune, rest []byte) {
	if len(body) >= 6 && body[0] == '\\' && body[1] == 'u' {
		n, err := strconv.ParseUint(string(body[2:6]), 16, 16)
		if err == nil {
			return rune(n), body[6:]
		}
	}
	return 0, body[min(2, len(body)):]
}

func invalidJSON(message string) error {
	return fault.New(fault.Invalid, fault.ReasonInvalidJSON, message)
}

func syntaxFault(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return invalidJSON("the body ends in the middle of the JSON")
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return invalidJSON(fmt.Sprintf("the body is not valid JSON: error at byte %d", syntax.Offset))
	}
	return invalidJSON("the body is not valid JSON")
}

type decoder struct {
	dec     *json.Decoder
	ignored int // the number of values that were skipped
	wrong   fault.Checks
	bounds  map[protoreflect.FieldDescriptor]bounds.Bound // cache of bound
}

// bound returns the declared bound of a field.
func (d *decoder) bound(fd protoreflect.FieldDescriptor) bounds.Bound {
	b, known := d.bounds[fd]
	if !known {
		if d.bounds == nil {
			d.bounds = map[protoreflect.FieldDescriptor]bounds.Bound{}
		}
		b = bounds.Of(fd)
		d.bounds[fd] = b
	}
	return b
}

// object reads the members of an object up to its closing brace, after the opening brace was read.
// If m is nil, it skips them.
func (d *decoder) object(m protoreflect.Message, path string, depth int) error {
	if depth > maxDepth {
		return invalidJSON(fmt.Sprintf("the JSON is nested more than %d levels deep", maxDepth))
	}
	seen := map[string]bool{}
	for d.dec.More() {
		tok, err := d.dec.Token()
		if err != nil {
			return syntaxFault(err)
		}
		name := tok.(string) // the decoder accepts nothing else as a member's name
		if seen[name] {
			return invalidJSON("an object contains the member " + quoteShort(name) + " twice")
		}
		if len(seen) == maxMembers {
			return invalidJSON(fmt.Sprintf("an object has more than %d members", maxMembers))
		}
		seen[name] = true
		if err := d.memberNamed(name, m, path, depth); err != nil {
			return err
		}
	}
	_, err := d.dec.Token()
	if err != nil {
		return syntaxFault(err)
	}
	return nil
}

// memberNamed reads the value of a member, or skips it if m does not have the member.
func (d *decoder) memberNamed(name string, m protoreflect.Message, path string, depth int) error {
	var fd protoreflect.FieldDescriptor
	if m != nil {
		fd = m.Descriptor().Fields().ByJSONName(name)
	}
	if fd == nil {
		return d.skip(depth)
	}
	return d.member(m, fd, join(path, name), depth)
}

func (d *decoder) member(m protoreflect.Message, fd protoreflect.FieldDescriptor, path string, depth int) error {
	tok, err := d.dec.Token()
	if err != nil {
		return syntaxFault(err)
	}
	switch {
	case tok == nil && (fd.IsList() || !isNullable(fd)):
		return nil
	case fd.IsList():
		return d.list(m, fd, tok, path, depth)
	}
	v, ok, err := d.value(tok, fd, func() protoreflect.Value { return m.NewField(fd) }, path, depth)
	if ok && err == nil {
		m.Set(fd, v)
	}
	return err
}

// list reads a list into a field of m. tok is its first token, which was already read.
func (d *decoder) list(m protoreflect.Message, fd protoreflect.FieldDescriptor, tok json.Token, path string, depth int) error {
	if tok != json.Delim('[') {
		return d.wrongType(tok, path, "must be an array", depth)
	}
	list := m.NewField(fd).List()
	bound := d.bound(fd)
	for i := 0; d.dec.More(); i++ {
		if bound.Items > 0 && i == bound.Items {
			d.wrong.Add(path, bounds.RuleItems, bound.TooMany())
			return d.wrong.Err() // without the rest of the body
		}
		tok, err := d.dec.Token()
		if err != nil {
			return syntaxFault(err)
		}
		v, ok, err := d.value(tok, fd, list.NewElement, path+"["+strconv.Itoa(i)+"]", depth+1)
		if err != nil {
			return err
		}
		if ok {
			list.Append(v)
		}
	}
	if _, err := d.dec.Token(); err != nil {
		return syntaxFault(err)
	}
	m.Set(fd, protoreflect.ValueOfList(list))
	return nil
}

// value reads one value. tok is its first token, which was already read. If the value has the wrong
// type or is too long, ok is false and d.wrong has the failure.
func (d *decoder) value(tok json.Token, fd protoreflect.FieldDescriptor, fresh func() protoreflect.Value, path string, depth int) (v protoreflect.Value, ok bool, err error) {
	problem := ""
	switch fd.Kind() {
	case protoreflect.MessageKind:
		return d.message(tok, fd, fresh(), path, depth)
	case protoreflect.StringKind:
		if s, is := tok.(string); is {
			rule, phrase := d.bound(fd).Exceeds(s)
			if rule != "" {
				d.wrong.Add(path, rule, phrase)
			}
			return protoreflect.ValueOfString(s), rule == "", nil
		}
		problem = "must be a string"
	case protoreflect.BoolKind:
		if b, is := tok.(bool); is {
			return protoreflect.ValueOfBool(b), true, nil
		}
		problem = "must be true or false"
	case protoreflect.Int32Kind, protoreflect.Int64Kind:
		if v, problem = number(tok, fd.Kind()); problem == "" {
			return v, true, nil
		}
	default:
		return v, false, fmt.Errorf("edge message %s: fields of kind %s are not read", fd.FullName(), fd.Kind())
	}
	return v, false, d.wrongType(tok, path, problem, depth)
}

// message reads a message into v, from an object or an array or, for the messages of
// reservation.edge.v1, from a single value.
func (d *decoder) message(tok json.Token, fd protoreflect.FieldDescriptor, v protoreflect.Value, path string, depth int) (protoreflect.Value, bool, error) {
	if one := valueFor(fd.Message().FullName()); one != nil {
		ok, err := d.valueOf(one, tok, v.Message().Interface(), path, depth)
		return v, ok, err
	}
	if values := arrayOf(fd.Message()); values != nil {
		return v, tok == json.Delim('['), d.list(v.Message(), values, tok, path, depth)
	}
	if tok != json.Delim('{') {
		return v, false, d.wrongType(tok, path, "must be an object", depth)
	}
	return v, true, d.object(v.Message(), path, depth+1)
}

// isNullable reports whether null is a valid value of a field.
func isNullable(fd protoreflect.FieldDescriptor) bool {
	if fd.Kind() != protoreflect.MessageKind {
		return false
	}
	v := valueFor(fd.Message().FullName())
	return v != nil && v.nullable
}

// number reads an integer of a kind. problem is a phrase about an invalid one, or "".
func number(tok json.Token, kind protoreflect.Kind) (v protoreflect.Value, problem string) {
	n, problem := integer(tok)
	switch {
	case problem != "" || kind == protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(n), problem
	case n < math.MinInt32 || n > math.MaxInt32:
		return v, "is out of range"
	}
	return protoreflect.ValueOfInt32(int32(n)), ""
}

// integer reads 3, 3.0 and 3e0 alike. An ordinary integer does not pass through a float.
func integer(tok json.Token) (int64, string) {
	num, is := tok.(json.Number)
	if !is {
		return 0, "must be a number"
	}
	if n, err := strconv.ParseInt(num.String(), 10, 64); err == nil {
		return n, ""
	}
	f, err := num.Float64()
	if err != nil || f != math.Trunc(f) {
		return 0, "must be a whole number"
	}
	if math.Abs(f) > 1<<53 {
		return 0, "is out of range"
	}
	return int64(f), ""
}

// rest skips the rest of a value. tok is its first token, which was already read.
func (d *decoder) rest(tok json.Token, depth int) error {
	switch tok {
	case json.Delim('{'):
		return d.object(nil, "", depth+1)
	case json.Delim('['):
		return d.array(depth + 1)
	}
	return nil
}

// skip reads a value and ignores it.
func (d *decoder) skip(depth int) error {
	if d.ignored == maxIgnored {
		return invalidJSON(fmt.Sprintf("the body has more than %d values that are not part of the request", maxIgnored))
	}
	d.ignored++
	tok, err := d.dec.Token()
	if err != nil {
		return syntaxFault(err)
	}
	return d.rest(tok, depth)
}

func (d *decoder) array(depth int) error {
	if depth > maxDepth {
		return invalidJSON(fmt.Sprintf("the JSON is nested more than %d levels deep", maxDepth))
	}
	for d.dec.More() {
		if err := d.skip(depth); err != nil {
			return err
		}
	}
	if _, err := d.dec.Token(); err != nil {
		return syntaxFault(err)
	}
	return nil
}

// wrongType adds a failure for a value of the wrong type, and skips the value. tok is its first
// token, which was already read.
func (d *decoder) wrongType(tok json.Token, path, phrase string, depth int) error {
	d.wrong.Add(path, ruleType, phrase)
	return d.rest(tok, depth)
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// quoteShort quotes a caller's text for a message, cut to a readable length.
func quoteShort(s string) string {
	const most = 40
	if utf8.RuneCountInString(s) > most {
		s = string([]rune(s)[:most]) + "…"
	}
	return strings.ToValidUTF8(strconv.Quote(s), "\uFFFD")
}
