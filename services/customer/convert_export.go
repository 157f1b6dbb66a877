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

// column is a column of an export.
type column struct {
	name string
	kind kind
}

// kind is how the binary values of a column are converted to JSON.
type kind int

const (
	text kind = iota
	identifier
	boolean
	timestamptz
)

// exportColumns are the columns of exportSQL, in order.
func exportColumns() []column {
	all := []column{{"id", identifier}}
	for _, f := range fields() {
		all = append(all, column{f.name, text})
	}
	return append(all, column{"archived", boolean}, column{"created_at", timestamptz}, column{"updated_at", timestamptz})
}

// shape is the form of an object that the caller wants: literal text with columns in between.
type shape struct {
	parts []part
	end   []byte
}

// part is a column and the text before it; place is the column's index in a row.
type part struct {
	before []byte
	place  int
	kind   kind
}

func shapeOf(members []*customerv1.ExportMember) (shape, error) {
	if len(members) == 0 {
		return shape{}, fault.InvalidFields(fault.Field{Field: "members", Rule: "items", Message: "must have at least 1"})
	}
	var s shape
	columns := exportColumns()
	literal := []byte{'{'}
	for i, m := range members {
		if i > 0 {
			literal = append(literal, ',')
		}
		literal = append(jsontext.AppendString(literal, m.GetName()), ':')
		if constant, ok := m.GetValue().(*customerv1.ExportMember_Constant); ok {
			literal = jsontext.AppendString(literal, constant.Constant)
			continue
		}
		place := slices.IndexFunc(columns, func(c column) bool { return c.name == columnOf(m.GetField()) })
		if place < 0 {
			return shape{}, fault.InvalidFields(fault.Field{
				Field: fmt.Sprintf("members[%d].field", i), Rule: "enum", Message: "must be a field of a customer",
			})
		}
		s.parts = append(s.parts, part{before: literal, place: place, kind: columns[place].kind})
		literal = nil
	}
	s.end = append(literal, '}')
	return s, nil
}

// columnOf returns the column of CUSTOMER_FIELD_<COLUMN>.
func columnOf(f customerv1.CustomerField) string {
	return strings.ToLower(strings.TrimPrefix(f.String(), "CUSTOMER_FIELD_"))
}

var errColumn = errors.New("a column of the export has an unexpected type")

// append writes one customer, given as PostgreSQL's binary values.
func (s *shape) append(b []byte, values [][]byte) ([]byte, error) {
	for i := range s.parts {
		p := &s.parts[i]
		b = append(b, p.before...)
		v := values[p.place]
		switch p.kind {
		case identifier:
			if len(v) != 16 {
				return b, errColumn
			}
			b = append(b, '"')
			b = id.Customer(v).Append(b)
			b = append(b, '"')
		case boolean:
			if len(v) != 1 {
				return b, errColumn
			}
			b = strconv.AppendBool(b, v[0] == 1)
		case timestamptz:
			if len(v) != 8 {
				return b, errColumn
			}
			b = append(b, '"')
			b = instant(v).AppendFormat(b, "2006-01-02T15:04:05Z")
			b = append(b, '"')
		case text:
			b = jsontext.AppendString(b, v)
		}
	}
	return append(b, s.end...), nil
}

// instant reads PostgreSQL's binary timestamptz: microseconds since 2000.
func instant(v []byte) time.Time {
	const year2000 = 946684800_000_000
	return time.UnixMicro(int64(binary.BigEndian.Uint64(v)) + year2000).UTC()
}
