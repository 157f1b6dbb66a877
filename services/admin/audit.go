package admin

import (
	"cmp"
	"log/slog"
	"strings"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/rpc"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// audited is the audit entry of a form, as its route declares it: the action, in
// which "{action}" is that of the path, and the path value that is the target.
type audited struct{ action, target string }

// given is the target of a form whose path does not name it: the handler gives it, see
// request.target.
const given = ""

// byAuth is the entry of a form that changes something of auth's, which writes its
// own audit entries.
func byAuth() audited { return audited{} }

// change is what a request has changed in another service. It is recorded in the
// audit log before the answer begins.
type change struct {
	made    bool
	action  string // "" is the one that the route declares
	target  string
	details []*authv1.AuditDetail
}

// changed notes that a service has made the change of this request.
func (r *request) changed() {
	r.change.made, r.change.target = true, r.path(r.audited.target)
}

// action names the change where the log has another name than the path.
func (r *request) action(name string) { r.change.action = name }

// unchanged says that nothing was left to change: nothing is recorded.
func (r *request) unchanged() { r.change.made = false }

// target says what was changed, where the path does not.
func (r *request) target(id string) { r.change.target = id }

// detail adds a fact to the audit entry of the change.
func (r *request) detail(field, before, after string) {
	r.change.details = append(r.change.details, &authv1.AuditDetail{Field: field, Before: clip(before), After: clip(after)})
}

// clip keeps a detail within what the log takes.
func clip(text string) string {
	if r := []rune(text); len(r) > 1000 {
		return string(r[:999]) + "…"
	}
	return text
}

// record writes the change of this request, if there is one, into the audit log. The
// change stands even where the log does not answer; the operator's log says so. A form
// that was sent twice is recorded once, although the second time finds the change made
// already, and so other facts before it.
func (r *request) record() {
	c := r.change
	r.change.made = false
	if !c.made || r.audited.action == "" {
		return
	}
	action := cmp.Or(c.action, strings.ReplaceAll(r.audited.action, "{action}", r.path("action")))
	part := "audit:" + action + ":" + c.target
	for _, d := range c.details {
		part += "\x00" + d.GetAfter()
	}
	_, err := r.services.audit.RecordAuditEntry(r.once(part), &authv1.RecordAuditEntryRequest{Action: action, Target: c.target, Details: c.details})
	if err != nil && fault.From(err).Reason != fault.ReasonIdempotencyKeyReused {
		r.web.log.LogAttrs(r.ctx, slog.LevelError, "change not in the audit log",
			slog.String("request_id", rpc.RequestID(r.ctx)), slog.String("action", action), slog.String("target", c.target), slog.String("error", err.Error()))
	}
}
