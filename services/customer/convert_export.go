package customer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/jsontext"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// The columns of exportSQL, by their place.
const (
	columnID = iota
	columnFirstName
	columnLastName
	columnEmail
	columnMobile
	columnArchived
	columnCreatedAt
	columnUpdatedAt
)

// columnOf gives each field its column.
func columnOf(f customerv1.CustomerField) (int, bool) {
	switch f {
	case customerv1.CustomerField_CUSTOMER_FIELD_ID:
		return columnID, true
	case customerv1.CustomerField_CUSTOMER_FIELD_FIRST_NAME:
		return columnFirstName, true
	case customerv1.CustomerField_CUSTOMER_FIELD_LAST_NAME:
		return columnLastName, true
	case customerv1.CustomerField_CUSTOMER_FIELD_EMAIL:
		return columnEmail, true
	case customerv1.CustomerField_CUSTOMER_FIELD_MOBILE:
		return columnMobile, true
	case customerv1.CustomerField_CUSTOMER_FIELD_ARCHIVED:
		return columnArchived, true
	case customerv1.CustomerField_CUSTOMER_FIELD_CREATED_AT:
		return columnCreatedAt, true
	case customerv1.CustomerField_CUSTOMER_FIELD_UPDATED_AT:
		return columnUpdatedAt, true
	}
	return 0, false
}

// shape is an object as the caller wants it: literal text, with columns between.
type shape struct {
	parts []part
	end   []byte
}

type part struct {
	before []byte
	column int
}

func shapeOf(members []*customerv1.ExportMember) (shape, error) {
	if len(members) == 0 {
		return shape{}, fault.InvalidFields(fault.Field{Field: "members", Rule: "items", Message: "must have at least 1"})
	}
	var s shape
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
		column, ok := columnOf(m.GetField())
		if !ok {
			return shape{}, fault.InvalidFields(fault.Field{
				Field: fmt.Sprintf("members[%d].field", i), Rule: "enum", Message: "must be a field of a customer",
			})
		}
		s.parts = append(s.parts, part{before: text, column: column})
		text = nil
	}
	s.end = append(text, '}')
	return s, nil
}

var errColumn = errors.New("a column of the export has an unexpected form")

// append writes one customer, given as PostgreSQL's binary values.
func (s *shape) append(b []byte, values [][]byte) ([]byte, error) {
	for i := range s.parts {
		p := &s.parts[i]
		b = append(b, p.before...)
		v := values[p.column]
		switch p.column {
		case columnID:
			if len(v) != 16 {
				return b, errColumn
			}
			b = append(b, '"')
			b = id.Customer(v).Append(b)
			b = append(b, '"')
		case columnArchived:
			if len(v) != 1 {
				return b, errColumn
			}
			if v[0] == 1 {
				b = append(b, "true"...)
			} else {
				b = append(b, "false"...)
			}
		case columnCreatedAt, columnUpdatedAt:
			if len(v) != 8 {
				return b, errColumn
			}
			b = append(b, '"')
			b = timestamp(v).AppendFormat(b, "2006-01-02T15:04:05Z")
			b = append(b, '"')
		default:
			b = jsontext.AppendString(b, v)
		}
	}
	return append(b, s.end...), nil
}

// timestamp reads PostgreSQL's binary timestamptz: microseconds since 2000.
func timestamp(v []byte) time.Time {
	const year2000 = 946684800_000_000
	return time.UnixMicro(int64(binary.BigEndian.Uint64(v)) + year2000).UTC()
}
