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
	// maxDepth bounds the nesting of a request body.
	maxDepth = 32
	// maxMembers bounds the members of one object: many more than any object here
	// has, because unknown ones are ignored.
	maxMembers = 1000
)

// DecodeJSON fills m, an empty message, from the JSON object in body. Members are
// named by json_name, and unknown ones are ignored. A member that is null is treated
// as absent, except the nullable values of reservation.edge.v1.
//
// A body that is not a JSON object, is not UTF-8 or has a member twice is
// INVALID_JSON. A member of a wrong type is a VALIDATION_ERROR with the rule "type". A
// member that exceeds the bound that its proto declares is a VALIDATION_ERROR with a
// rule of package bounds. The error names all such members, up to fault.MaxFields. A
// list that is too long is the last: the rest of the body is not read.
func DecodeJSON(body []byte, m proto.Message) error {
	if !utf8.Valid(body) {
		return invalidJSON("the body is not valid UTF-8")
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return invalidJSON("the body is empty, a JSON object is expected")
	}
	if loneSurrogate(body) {
		return invalidJSON("a string has an escape that is no character")
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
		return invalidJSON("there is something after the JSON object")
	}
	return d.wrong.Err()
}

// loneSurrogate reports whether an escape in body is half a character, as
// \ud800 is without its other half. encoding/json would put another character
// in its place.
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

// escaped reads a \u escape at the start of body, and returns what follows.
// Another escape is 0.
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
		return invalidJSON("the JSON ends too early")
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return invalidJSON(fmt.Sprintf("the JSON is malformed at byte %d", syntax.Offset))
	}
	return invalidJSON("the JSON is malformed")
}

type decoder struct {
	dec    *json.Decoder
	wrong  fault.Checks
	bounds map[protoreflect.FieldDescriptor]bounds.Bound // those that were looked up
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

// object reads the members up to the closing brace; the opening one is read. A
// nil message is skipped.
func (d *decoder) object(m protoreflect.Message, path string, depth int) error {
	if depth > maxDepth {
		return invalidJSON("the JSON is nested too deeply")
	}
	seen := map[string]bool{}
	for d.dec.More() {
		tok, err := d.dec.Token()
		if err != nil {
			return syntaxFault(err)
		}
		name := tok.(string) // the decoder accepts nothing else as a member's name
		if seen[name] {
			return invalidJSON("the member " + quoteShort(name) + " is given twice")
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

// list reads a list whose first token is tok into a field of m.
func (d *decoder) list(m protoreflect.Message, fd protoreflect.FieldDescriptor, tok json.Token, path string, depth int) error {
	if tok != json.Delim('[') {
		return d.wrongType(tok, path, "must be an array", depth)
	}
	list := m.NewField(fd).List()
	bound := d.bound(fd)
	for i := 0; d.dec.More(); i++ {
		if bound.Items > 0 && i == bound.Items {
			d.wrong.Add(path, bounds.RuleItems, bound.TooMany())
			return d.wrong.Err() // the rest of the body is not worth reading
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

// value reads one value whose first token is tok. ok is false where it has the
// wrong type, which is then noted.
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

// message reads a message, an object or one value, into v.
func (d *decoder) message(tok json.Token, fd protoreflect.FieldDescriptor, v protoreflect.Value, path string, depth int) (protoreflect.Value, bool, error) {
	if one := valueFor(fd.Message().FullName()); one != nil {
		ok, err := d.valueOf(one, tok, v.Message().Interface(), path, depth)
		return v, ok, err
	}
	if tok != json.Delim('{') {
		return v, false, d.wrongType(tok, path, "must be an object", depth)
	}
	return v, true, d.object(v.Message(), path, depth+1)
}

// isNullable reports whether null is a value of a field.
func isNullable(fd protoreflect.FieldDescriptor) bool {
	if fd.Kind() != protoreflect.MessageKind {
		return false
	}
	v := valueFor(fd.Message().FullName())
	return v != nil && v.nullable
}

// number reads an integer of a kind. problem says what is wrong with it, or "".
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

// integer reads 3, 3.0 and 3e0 alike, without going through a float.
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

// rest skips the rest of a value whose first token is tok.
func (d *decoder) rest(tok json.Token, depth int) error {
	switch tok {
	case json.Delim('{'):
		return d.object(nil, "", depth+1)
	case json.Delim('['):
		return d.array(depth + 1)
	}
	return nil
}

func (d *decoder) skip(depth int) error {
	tok, err := d.dec.Token()
	if err != nil {
		return syntaxFault(err)
	}
	return d.rest(tok, depth)
}

func (d *decoder) array(depth int) error {
	if depth > maxDepth {
		return invalidJSON("the JSON is nested too deeply")
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

// wrongType notes a value of the wrong type, whose first token is tok, and skips it.
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
