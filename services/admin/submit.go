package admin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"

	"google.golang.org/grpc"

	"reservation.dev/platform/rpc"
)

// method is an RPC of a service's client.
type method[Q, R any] = func(context.Context, Q, ...grpc.CallOption) (R, error)

// perform makes the change of a form with one call of a service. A form that is sent again is
// carried out once. The change is recorded in the audit log.
func perform[Q, R any](r *request, call method[Q, R], req Q) (R, error) {
	return performPart(r, "", call, req)
}

// performPart is perform for one of several forms of a page that have the same path; part
// distinguishes them.
func performPart[Q, R any](r *request, part string, call method[Q, R], req Q) (R, error) {
	res, err := call(r.once(part), req)
	if err == nil {
		r.changed()
		r.change.part = part
	}
	return res, err
}

// errNotAccepted says that a form has errors; the form has them.
var errNotAccepted = errors.New("the form is not accepted")

// submit is perform for a form with fields. If the form already has errors, submit does not call
// the service. A refusal of the service is added to the form's errors. In both cases it returns
// errNotAccepted, which request.again handles.
func submit[Q, R any](r *request, f *form, call method[Q, R], req Q) (res R, err error) {
	if f.Failed() {
		return res, errNotAccepted
	}
	if res, err = perform(r, call, req); err != nil && f.refuse(err) {
		return res, errNotAccepted
	}
	return res, err
}

// once returns the context of a write of this form, with an idempotency key: a form that is sent
// twice is carried out once. The forms of a page share a key, so the path is part of the
// idempotency key: a second guest can be checked in before the first response arrives.
func (r *request) once(part string) context.Context {
	key := r.http.PostForm.Get(keyField)
	if len(key) != 26 || strings.ContainsFunc(key, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return r.ctx
	}
	sum := sha256.Sum256([]byte(r.http.URL.Path + "\x00" + part))
	return rpc.WithIdempotencyKey(r.ctx, "admin:"+key+":"+hex.EncodeToString(sum[:16]))
}
