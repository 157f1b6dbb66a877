package admin

import (
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

// actionName returns the action for a path whose {action} has a value. The log calls
// two of them by other names than the paths.
func (a audited) actionName(value string) string {
	switch value {
	case "waive":
		value = "cancel"
	case "rotate":
		value = "rotate_secret"
	}
	return strings.ReplaceAll(a.action, "{action}", value)
}

// change is what a request has changed in another service. It is recorded in the
// audit log before the answer begins.
type change struct {
	made    bool
	target  string
	details []*authv1.AuditDetail
}

// changed notes that a service has made the change of this request.
func (r *request) changed() {
	r.change = change{made: true, target: r.path(r.audited.target)}
}

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
	action := r.audited.actionName(r.path("action"))
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
