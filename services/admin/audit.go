package admin

import (
	"cmp"
	"log/slog"
	"strings"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/rpc"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// audited is the audit entry of a form, as its route declares it. In the action, "{action}" is
// replaced by the path value of that name. target is the name of the path value that identifies the
// changed thing.
type audited struct{ action, target string }

// given is the target of a form whose path does not have it. The handler sets the target with
// request.target.
const given = ""

// byAuth is the entry of a form that changes data of the auth service, which writes its own audit
// entries.
func byAuth() audited { return audited{} }

// change is a change that a request has made in another service. It is recorded in the audit log
// before the response.
type change struct {
	made    bool
	part    string // of performPart
	action  string // "" for the action that the route declares
	target  string
	details []*authv1.AuditDetail
}

// changed notes that a service has made the change.
func (r *request) changed() {
	r.change.made, r.change.target = true, r.path(r.audited.target)
}

// action sets the action of the entry, if it is not the one of the path.
func (r *request) action(name string) { r.change.action = name }

// unchanged notes that there was nothing to change, so that nothing is recorded.
func (r *request) unchanged() { r.change.made = false }

// target sets the identifier of the changed thing, if the path does not have it.
func (r *request) target(id string) { r.change.target = id }

// detail adds a detail to the audit entry of the change.
func (r *request) detail(field, before, after string) {
	r.change.details = append(r.change.details, &authv1.AuditDetail{Field: field, Before: clip(before), After: clip(after)})
}

// yes is the value of a detail that is recorded only if it is so.
func yes(so bool) string {
	if so {
		return "true"
	}
	return ""
}

// clip cuts a detail to the 1,000 characters that the log accepts.
func clip(text string) string {
	if r := []rune(text); len(r) > 1000 {
		return string(r[:999]) + "…"
	}
	return text
}

// record writes the change of this request, if there is one, to the audit log. If the audit log
// does not respond, the change stays and the error is logged. A form that was sent twice is
// recorded once, although the second request finds other values before the change.
func (r *request) record() {
	c := r.change
	r.change.made = false
	if !c.made || r.audited.action == "" {
		return
	}
	action := cmp.Or(c.action, strings.ReplaceAll(r.audited.action, "{action}", r.path("action")))
	part := "audit:" + action + ":" + c.target + "\x00" + c.part
	for _, d := range c.details {
		part += "\x00" + d.GetAfter()
	}
	_, err := r.services.audit.RecordAuditEntry(r.once(part), &authv1.RecordAuditEntryRequest{Action: action, Target: c.target, Details: c.details})
	if err != nil && fault.From(err).Reason != fault.ReasonIdempotencyKeyReused {
		r.web.log.LogAttrs(r.ctx, slog.LevelError, "change not in the audit log",
			slog.String("request_id", rpc.RequestID(r.ctx)), slog.String("action", action), slog.String("target", c.target), slog.String("error", err.Error()))
	}
}
