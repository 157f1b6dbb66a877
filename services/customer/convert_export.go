package customer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/jsontext"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// column is a column of an export, and how its binary values are written as JSON.
type column struct {
	name   string
	append func(b, value []byte) ([]byte, error)
}

// exportColumns are the columns of exportSQL, in order.
func exportColumns() []column {
	all := []column{{"id", appendID}}
	for _, f := range fields() {
		all = append(all, column{f.Name, appendText})
	}
	return append(all, column{"archived", appendBool}, column{"created_at", appendTime}, column{"updated_at", appendTime})
}

// shape is an object as the caller wants it: literal text, with columns between.
type shape struct {
	parts []part
	end   []byte
}

// part is a column with the text before it; place is the column's in a row.
type part struct {
	before []byte
	place  int
	column
}

func shapeOf(members []*customerv1.ExportMember) (shape, error) {
	if len(members) == 0 {
		return shape{}, fault.InvalidFields(fault.Field{Field: "members", Rule: "items", Message: "must have at least 1"})
	}
	var s shape
	columns := exportColumns()
	text := []byte{'{'}
	for i, m := range members {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(jsontext.AppendString(text, m.GetName()), ':')
		if constant, ok := m.GetValue().(*customerv1.ExportMember_Constant); ok {
			text = jsontext.AppendString(text, constant.Constant)
			continue
		}
		place := slices.IndexFunc(columns, func(c column) bool { return c.name == columnOf(m.GetField()) })
		if place < 0 {
			return shape{}, fault.InvalidFields(fault.Field{
				Field: fmt.Sprintf("members[%d].field", i), Rule: "enum", Message: "must be a field of a customer",
			})
		}
		s.parts = append(s.parts, part{before: text, place: place, column: columns[place]})
		text = nil
	}
	s.end = append(text, '}')
	return s, nil
}

// columnOf returns the column of CUSTOMER_FIELD_<COLUMN>.
func columnOf(f customerv1.CustomerField) string {
	return strings.ToLower(strings.TrimPrefix(f.String(), "CUSTOMER_FIELD_"))
}

var errColumn = errors.New("a column of the export has an unexpected form")

// append writes one customer, given as PostgreSQL's binary values.
func (s *shape) append(b []byte, values [][]byte) (_ []byte, err error) {
	for i := range s.parts {
		p := &s.parts[i]
		b = append(b, p.before...)
		if b, err = p.append(b, values[p.place]); err != nil {
			return b, err
		}
	}
	return append(b, s.end...), nil
}

func appendText(b, value []byte) ([]byte, error) { return jsontext.AppendString(b, value), nil }

func appendID(b, value []byte) ([]byte, error) {
	if len(value) != len(id.Customer{}) {
		return b, errColumn
	}
	b = append(b, '"')
	b = id.Customer(value).Append(b)
	return append(b, '"'), nil
}

func appendBool(b, value []byte) ([]byte, error) {
	if len(value) != 1 {
		return b, errColumn
	}
	return strconv.AppendBool(b, value[0] == 1), nil
}

// appendTime writes PostgreSQL's binary timestamptz, microseconds since 2000.
func appendTime(b, value []byte) ([]byte, error) {
	const year2000 = 946684800_000_000
	if len(value) != 8 {
		return b, errColumn
	}
	at := time.UnixMicro(int64(binary.BigEndian.Uint64(value)) + year2000).UTC()
	b = append(b, '"')
	b = at.AppendFormat(b, "2006-01-02T15:04:05Z")
	return append(b, '"'), nil
}
