package outbox

import (
	"context"
	"fmt"
	"strings"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	auditv1 "reservation.dev/proto/gen/reservation/audit/v1"
)

// ChangeRecorded is the last part of the subject of the events of AppendChange:
// "booking.v1.change_recorded".
const ChangeRecorded = ".v1.change_recorded"

// Fact is a detail of a change for the audit log. A fact without a value is left out.
type Fact struct{ Field, Value string }

// AppendChange adds an event for the audit log to tx if a credential of the company made a change
// that no other event describes. It does nothing for the changes of people, which the dashboard
// records, and for those of the platform. target is the identifier of the changed thing.
func (o *Outbox) AppendChange(ctx context.Context, tx *pg.Tx, company id.Company, target fmt.Stringer, facts ...Fact) error {
	service := serviceOf(rpc.Method(ctx))
	if rpc.CompanyCredential(ctx) == "" || service == "" {
		return nil
	}
	change := &auditv1.ChangeRecorded{Target: target.String()}
	for _, f := range facts {
		if f.Value != "" {
			change.Details = append(change.Details, &auditv1.ChangeDetail{Field: f.Field, After: f.Value})
		}
	}
	return o.Append(ctx, tx, Event{Company: company, Subject: service + ChangeRecorded, Payload: change})
}

// serviceOf returns the service of a method: "booking" of
// "/reservation.booking.v1.RoomService/CreateRoom".
func serviceOf(method string) string {
	_, rest, _ := strings.Cut(method, ".")
	service, _, _ := strings.Cut(rest, ".")
	return service
}
