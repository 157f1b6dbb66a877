package edge

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"reservation.dev/platform/bounds"
	"reservation.dev/platform/jsontext"
	edgev1 "reservation.dev/proto/gen/reservation/edge/v1"
)

// value is how a message is read and written that is a single JSON value instead of an object.
type value struct {
	append func(b []byte, m proto.Message) []byte
	// read fills m from a value whose first token is tok. If the value is invalid, rule is the rule
	// that it breaks, and problem is a phrase about it; otherwise both are "". err is errRestUnread if
	// the rest of the body must not be read either.
	read func(d *decoder, tok json.Token, m proto.Message, depth int) (rule, problem string, err error)
	// nullable means that null is a value of its own, different from an absent member.
	nullable bool
}

// errRestUnread means that the rest of the body is not read because of an invalid value.
var errRestUnread = errors.New("the rest of the body is not read")

// valueFor returns how to read and write a message of reservation.edge.v1, or nil if the message is
// an object.
func valueFor(name protoreflect.FullName) *value {
	switch name {
	case "reservation.edge.v1.Amount":
		return &value{
			append: func(b []byte, m proto.Message) []byte { return appendDecimal(b, m.(*edgev1.Amount).GetMinor()) },
			read:   decimalInto(math.MaxInt64, func(m proto.Message, n int64) { m.(*edgev1.Amount).Minor = n }),
		}
	case "reservation.edge.v1.NonNullAmount":
		return &value{
			nullable: true, // so that read refuses it
			append:   func(b []byte, m proto.Message) []byte { return appendDecimal(b, m.(*edgev1.NonNullAmount).GetMinor()) },
			read:     decimalInto(math.MaxInt64, func(m proto.Message, n int64) { m.(*edgev1.NonNullAmount).Minor = n }),
		}
	case "reservation.edge.v1.Percentage":
		return &value{
			append: func(b []byte, m proto.Message) []byte {
				return appendDecimal(b, int64(m.(*edgev1.Percentage).GetBasisPoints()))
			},
			read: decimalInto(math.MaxInt32, func(m proto.Message, n int64) { m.(*edgev1.Percentage).BasisPoints = int32(n) }),
		}
	case "reservation.edge.v1.NullableInt":
		return &value{nullable: true, append: appendNullableInt, read: readNullableInt}
	case "reservation.edge.v1.NullableText":
		return &value{nullable: true, append: appendNullableText, read: readNullableText}
	case "reservation.edge.v1.Json":
		return &value{append: func(b []byte, m proto.Message) []byte { return append(b, m.(*edgev1.Json).GetText()...) }}
	case "reservation.edge.v1.TextList", "reservation.edge.v1.IdentifierList", "reservation.edge.v1.CollectionList", "reservation.edge.v1.TagList",
		"reservation.edge.v1.StaffList", "reservation.edge.v1.ResourceList":
		return &value{append: appendTextList, read: listOf(textItem)}
	case "reservation.edge.v1.DayList", "reservation.edge.v1.LengthList":
		return &value{append: appendNumberList, read: listOf(numberItem)}
	}
	return nil
}

// arrayOf returns the field of a message that is an array of objects in JSON, or nil. Such a message has
// only this field, values. Unlike a repeated field, it can be absent.
func arrayOf(md protoreflect.MessageDescriptor) protoreflect.FieldDescriptor {
	if md.Fields().Len() != 1 {
		return nil
	}
	fd := md.Fields().Get(0)
	if fd.Name() != "values" || !fd.IsList() || fd.Kind() != protoreflect.MessageKind {
		return nil
	}
	return fd
}

func appendNullableInt(b []byte, m proto.Message) []byte {
	if v := m.(*edgev1.NullableInt).Value; v != nil {
		return strconv.AppendInt(b, int64(*v), 10)
	}
	return append(b, "null"...)
}

func readNullableInt(d *decoder, tok json.Token, m proto.Message, depth int) (rule, problem string, err error) {
	if tok == nil {
		return "", "", nil
	}
	n, problem := integer(tok)
	if problem == "" && (n < math.MinInt32 || n > math.MaxInt32) {
		problem = "is out of range"
	}
	if problem != "" {
		return ruleType, problem, d.rest(tok, depth)
	}
	v := int32(n)
	m.(*edgev1.NullableInt).Value = &v
	return "", "", nil
}

func appendNullableText(b []byte, m proto.Message) []byte {
	if v := m.(*edgev1.NullableText).Value; v != nil {
		return jsontext.AppendString(b, *v)
	}
	return append(b, "null"...)
}

func readNullableText(d *decoder, tok json.Token, m proto.Message, depth int) (rule, problem string, err error) {
	if tok == nil {
		return "", "", nil
	}
	s, is := tok.(string)
	if !is {
		return ruleType, "must be a string or null", d.rest(tok, depth)
	}
	if rule, phrase := d.bound(m.ProtoReflect().Descriptor().Fields().ByName("value")).Exceeds(s); rule != "" {
		return rule, phrase, nil
	}
	m.(*edgev1.NullableText).Value = &s
	return "", "", nil
}

func appendTextList(b []byte, m proto.Message) []byte {
	b = append(b, '[')
	for i, s := range m.(interface{ GetValues() []string }).GetValues() {
		if i > 0 {
			b = append(b, ',')
		}
		b = jsontext.AppendString(b, s)
	}
	return append(b, ']')
}

const (
	ruleType     = "type"
	ruleRange    = "range"
	ruleDecimals = "decimals"
)

func appendNumberList(b []byte, m proto.Message) []byte {
	b = append(b, '[')
	for i, n := range m.(interface{ GetValues() []int32 }).GetValues() {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(n), 10)
	}
	return append(b, ']')
}

// listOf returns the reader of a list of single values. item reads one of them.
func listOf(item func(tok json.Token, bound bounds.Bound) (v protoreflect.Value, rule, problem string)) func(*decoder, json.Token, proto.Message, int) (string, string, error) {
	return func(d *decoder, tok json.Token, m proto.Message, depth int) (rule, problem string, err error) {
		if tok != json.Delim('[') {
			return ruleType, "must be an array", d.rest(tok, depth)
		}
		field := m.ProtoReflect().Descriptor().Fields().ByName("values")
		list, bound := m.ProtoReflect().Mutable(field).List(), d.bound(field)
		for i := 0; d.dec.More(); i++ {
			if i == bound.Items {
				return bounds.RuleItems, bound.TooMany(), errRestUnread
			}
			tok, err := d.dec.Token()
			if err != nil {
				return "", "", syntaxFault(err)
			}
			v, itemRule, itemProblem := item(tok, bound)
			if itemProblem == "" {
				list.Append(v)
				continue
			}
			rule, problem = itemRule, itemProblem
			if err := d.rest(tok, depth+1); err != nil {
				return "", "", err
			}
		}
		if _, err := d.dec.Token(); err != nil {
			return "", "", syntaxFault(err)
		}
		return rule, problem, nil
	}
}

func textItem(tok json.Token, bound bounds.Bound) (v protoreflect.Value, rule, problem string) {
	s, is := tok.(string)
	if !is {
		return v, ruleType, "must be an array of strings"
	}
	if rule, phrase := bound.Exceeds(s); rule != "" {
		return v, rule, "has an item that is too long: each item " + phrase
	}
	return protoreflect.ValueOfString(s), "", ""
}

func numberItem(tok json.Token, _ bounds.Bound) (v protoreflect.Value, rule, problem string) {
	v, problem = number(tok, protoreflect.Int32Kind)
	if problem != "" {
		return v, ruleType, "must be an array of whole numbers"
	}
	return v, "", ""
}

// decimalInto reads a number with at most two decimals as hundredths.
func decimalInto(most int64, set func(m proto.Message, n int64)) func(*decoder, json.Token, proto.Message, int) (string, string, error) {
	return func(d *decoder, tok json.Token, m proto.Message, depth int) (string, string, error) {
		num, is := tok.(json.Number)
		if !is {
			return ruleType, "must be a number", d.rest(tok, depth)
		}
		n, rule := hundredths(num.String())
		switch {
		case rule == ruleDecimals:
			return rule, "must have at most two decimals", nil
		case rule != "" || n > most || n < -most:
			return ruleRange, "is out of range", nil
		}
		set(m, n)
		return "", "", nil
	}
}

// hundredths reads the text of a JSON number exactly. rule is "decimals" if it has more than two
// decimals, "range" if it does not fit an int64, and otherwise "".
func hundredths(text string) (n int64, rule string) {
	rest, negative := strings.CutPrefix(text, "-")
	mantissa, exponent, _ := strings.Cut(strings.ToLower(rest), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	shift := 2 - len(fraction)
	trimmed := strings.TrimRight(digits, "0")
	shift += len(digits) - len(trimmed)
	if trimmed == "" {
		return 0, ""
	}
	if exponent != "" {
		e, err := strconv.Atoi(exponent)
		if err != nil || e > 1000 || e < -1000 {
			if strings.HasPrefix(exponent, "-") {
				return 0, ruleDecimals
			}
			return 0, ruleRange
		}
		shift += e
	}
	if shift < 0 {
		return 0, ruleDecimals
	}
	if len(trimmed)+shift > 18 {
		return 0, ruleRange
	}
	n, err := strconv.ParseInt(trimmed+strings.Repeat("0", shift), 10, 64)
	if err != nil {
		return 0, ruleRange
	}
	if negative {
		n = -n
	}
	return n, ""
}

// appendDecimal writes hundredths as a JSON number, without trailing zeros.
func appendDecimal(b []byte, n int64) []byte {
	if n < 0 {
		b = append(b, '-')
		n = -n
	}
	b = strconv.AppendInt(b, n/100, 10)
	switch cents := n % 100; {
	case cents == 0:
		return b
	case cents%10 == 0:
		return append(b, '.', byte('0'+cents/10))
	default:
		return append(b, '.', byte('0'+cents/10), byte('0'+cents%10))
	}
}

// valueOf reads a message that is a single value. If the value is invalid, ok is false and d.wrong
// has the failure.
func (d *decoder) valueOf(v *value, tok json.Token, m proto.Message, path string, depth int) (ok bool, err error) {
	rule, problem, err := v.read(d, tok, m, depth)
	if problem != "" && (err == nil || errors.Is(err, errRestUnread)) {
		d.wrong.Add(path, rule, problem)
	}
	if errors.Is(err, errRestUnread) {
		err = d.wrong.Err()
	}
	return err == nil && problem == "", err
}
