package pass

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// list is what a list of pass types or customer passes is to hold.
type list struct {
	order  passv1.PassOrder
	after  *cursor
	offset int64
	size   int
	where  conditions
}

// cursor is the last row of a page: the list goes on behind it.
type cursor struct {
	at time.Time // by which the list is ordered; zero: by id alone
	id id.UUID
}

// newList reads what every list request has.
func newList(order passv1.PassOrder, token string, offset int64, size int32) (list, error) {
	l := list{order: order, offset: offset}
	var err error
	if l.size, err = pageSize(size, 50, 200); err != nil {
		return l, err
	}
	if _, known := passv1.PassOrder_name[int32(order)]; !known {
		return l, fault.InvalidParameter("order", "enum", "is not an order")
	}
	if offset < 0 {
		return l, fault.InvalidParameter("offset", "min", "must be 0 or more")
	}
	if token == "" {
		return l, nil
	}
	if offset > 0 {
		return l, fault.InvalidParameter("offset", "exclusive", "must not be given with page_token")
	}
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(raw) != cursorLen || passv1.PassOrder(raw[0]) != order {
		return l, fault.InvalidParameter("page_token", "format", "is not one that this list returned")
	}
	l.after = &cursor{id: id.UUID(raw[9:])}
	if order != passv1.PassOrder_PASS_ORDER_UNSPECIFIED {
		l.after.at = time.UnixMicro(int64(binary.BigEndian.Uint64(raw[1:])))
		if year := l.after.at.UTC().Year(); year < 1 || year > 9999 { // PostgreSQL does not know every instant
			return l, fault.InvalidParameter("page_token", "format", "is not one that this list returned")
		}
	}
	return l, nil
}

// cursorLen is that of an order, microseconds and an identifier.
const cursorLen = 1 + 8 + 16

// token writes the cursor behind a row.
func (l *list) token(created, updated time.Time, row id.UUID) string {
	at := created
	if l.byUpdate() {
		at = updated
	}
	raw := append(make([]byte, 0, cursorLen), byte(l.order))
	raw = binary.BigEndian.AppendUint64(raw, uint64(at.UnixMicro()))
	return base64.RawURLEncoding.EncodeToString(append(raw, row[:]...))
}

func (l *list) byUpdate() bool {
	return l.order == passv1.PassOrder_PASS_ORDER_UPDATED || l.order == passv1.PassOrder_PASS_ORDER_UPDATED_DESC
}

// page returns the statement of one page, one row longer than the page, which
// says whether there is another. columns and table are constants.
func (l *list) page(columns, table string) (sql string, args []any) {
	where := l.where
	where.args = append([]any(nil), where.args...)
	var keys []string
	switch {
	case l.order == passv1.PassOrder_PASS_ORDER_UNSPECIFIED:
		keys = []string{"id"}
	case l.byUpdate():
		keys = []string{"updated_at", "id"}
	default:
		keys = []string{"created_at", "id"}
	}
	direction, beyond := "", ">"
	if l.order == passv1.PassOrder_PASS_ORDER_CREATED_DESC || l.order == passv1.PassOrder_PASS_ORDER_UPDATED_DESC {
		direction, beyond = " desc", "<"
	}
	if l.after != nil {
		if len(keys) == 1 {
			where.add("id "+beyond+" %s", [16]byte(l.after.id))
		} else {
			where.add("("+strings.Join(keys, ", ")+") "+beyond+" (%s, %s)", l.after.at, [16]byte(l.after.id))
		}
	}
	limit := where.place(l.size + 1)
	offset := where.place(l.offset)
	return "select " + columns + " from " + table + " where " + where.sql + " order by " + strings.Join(keys, direction+", ") + direction +
		" limit " + limit + " offset " + offset, where.args
}

// conditions is the where clause of a statement, and its arguments.
type conditions struct {
	sql      string
	args     []any
	filtered bool // by more than the company
}

func of(company id.Company) conditions {
	return conditions{sql: "company_id = $1", args: []any{company}}
}

// place adds an argument and returns its placeholder.
func (c *conditions) place(arg any) string {
	c.args = append(c.args, arg)
	return fmt.Sprintf("$%d", len(c.args))
}

// add joins a condition, in which %s stands for the next argument.
func (c *conditions) add(sql string, args ...any) {
	places := make([]any, len(args))
	for i, arg := range args {
		places[i] = c.place(arg)
	}
	c.sql += " and " + fmt.Sprintf(sql, places...)
	c.filtered = true
}

// updatedSince adds the condition that a row changed at or after an instant.
func (c *conditions) updatedSince(t *timestamppb.Timestamp) error {
	if t == nil {
		return nil
	}
	if !t.IsValid() {
		return fault.InvalidParameter("updated_since", "format", "is not an instant")
	}
	c.add("updated_at >= %s", t.AsTime())
	return nil
}

// statusNow adds the condition that a customer pass has a status at a day in the
// company's zone, as StatusAt says.
func (c *conditions) statusNow(status passv1.CustomerPassStatus, today time.Time) error {
	switch status {
	case passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_UNSPECIFIED:
	case passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_ACTIVE:
		c.add("status = 'active' and expiry_date >= %s and start_date <= %s and remaining_uses > 0", today, today)
	case passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_PENDING:
		c.add("status = 'active' and start_date > %s and remaining_uses > 0", today)
	case passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_EXHAUSTED:
		c.add("status = 'active' and expiry_date >= %s and remaining_uses = 0", today)
	case passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_EXPIRED:
		c.add("status = 'active' and expiry_date < %s", today)
	case passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_PAUSED:
		c.add("status = 'paused'")
	case passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_CANCELLED:
		c.add("status = 'cancelled'")
	default:
		return fault.InvalidParameter("status", "enum", "is not a status of a customer pass")
	}
	return nil
}
