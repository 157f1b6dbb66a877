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

// perform makes the change that a form asks for: one call of a service, done once
// however often the form is sent, and recorded in the audit log.
func perform[Q, R any](r *request, call method[Q, R], req Q) (R, error) {
	return performPart(r, "", call, req)
}

// performPart is perform for a form of which a page has several with one path; part
// tells them apart.
func performPart[Q, R any](r *request, part string, call method[Q, R], req Q) (R, error) {
	res, err := call(r.once(part), req)
	if err == nil {
		r.changed()
	}
	return res, err
}

// errNotAccepted says that something is wrong with a form, which tells what.
var errNotAccepted = errors.New("the form is not accepted")

// submit is perform for a form with fields. What the service refuses is put on the
// form. It returns errNotAccepted where the form has faults, also from before the call,
// which is not made then; see request.again.
func submit[Q, R any](r *request, f *form, call method[Q, R], req Q) (res R, err error) {
	if f.Failed() {
		return res, errNotAccepted
	}
	if res, err = perform(r, call, req); err != nil && f.refuse(err) {
		return res, errNotAccepted
	}
	return res, err
}

// once returns the context of one write of this form, which has its key: sent twice,
// it is done once. The forms of a page have one key, so the path is part of it: a
// second guest can be checked in before the first one's answer is there.
func (r *request) once(part string) context.Context {
	key := r.http.PostForm.Get(keyField)
	if len(key) != 26 || strings.ContainsFunc(key, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return r.ctx
	}
	sum := sha256.Sum256([]byte(r.http.URL.Path + "\x00" + part))
	return rpc.WithIdempotencyKey(r.ctx, "admin:"+key+":"+hex.EncodeToString(sum[:16]))
}
