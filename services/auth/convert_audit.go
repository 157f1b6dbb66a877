package auth

import (
	"fmt"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

func entryMessage(e Entry, actorName string) *authv1.AuditEntry {
	m := &authv1.AuditEntry{
		Id: e.ID.String(), At: timestamppb.New(e.At), Actor: e.Actor, ActorName: actorName, Action: e.Action, Target: e.Target,
	}
	for _, d := range e.Details {
		m.Details = append(m.Details, &authv1.AuditDetail{Field: d.Field, Before: d.Before, After: d.After})
	}
	return m
}

// auditFilterOf checks the filter of a request and returns it.
func auditFilterOf(req *authv1.ListAuditEntriesRequest) (auditFilter, error) {
	f := auditFilter{actor: req.GetActor(), action: req.GetAction(), target: req.GetTarget(), byCredential: req.ByCredential}
	for _, p := range []struct{ parameter, value string }{{"actor", f.actor}, {"action", f.action}, {"target", f.target}} {
		if !storable(p.value) {
			return f, fault.InvalidParameter(p.parameter, "characters", "must not contain control characters")
		}
	}
	if req.Since != nil {
		f.since = new(req.GetSince().AsTime())
	}
	if req.Until != nil {
		f.until = new(req.GetUntil().AsTime())
	}
	return f, nil
}

// details checks the facts of an entry and returns them.
func (c *checks) details(in []*authv1.AuditDetail) []Detail {
	out := make([]Detail, len(in))
	for i, d := range in {
		path := fmt.Sprintf("details[%d]", i)
		out[i] = Detail{
			Field:  c.Line(path+".field", d.GetField(), 1, maxDetailField),
			Before: c.Prose(path+".before", d.GetBefore(), 0, maxDetailText), After: c.Prose(path+".after", d.GetAfter(), 0, maxDetailText),
		}
	}
	return out
}
