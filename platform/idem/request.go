package idem

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
)

// Request is a request with an idempotency key, in a commit that several requests can share:
//
//	requests of the commit ── Lookup ──▶ Replay ──stored──▶ its answer
//	                                      └──new──▶ run ──▶ Respond ── Save ──▶ commit
type Request struct {
	id   requestKey
	hash []byte
	// replayed is called when the response of an earlier request is returned.
	replayed func()

	row      string // the caller of the row in which the response is stored
	stored   []byte // the hash and response of an earlier request with the key; nil if there is none
	response []byte
	locked   bool // this transaction holds the key
}

// RequestOf returns the request of ctx, or nil if it has no idempotency key.
func RequestOf(ctx context.Context, req proto.Message) (*Request, error) {
	k, ok := ctx.Value(ctxKey{}).(requestKey)
	if !ok {
		return nil, nil
	}
	if err := k.check(); err != nil {
		return nil, err
	}
	hash, err := hashOf(req)
	if err != nil {
		return nil, err
	}
	return &Request{id: k, hash: hash, replayed: func() { rpc.SetReplayed(ctx) }}, nil
}

// Lookup returns the queries that lock the keys of requests until the end of the transaction, and then
// read the stored responses. If two of the requests have the same key, only the first one gets it.
func Lookup(requests ...*Request) []pg.Query {
	callers, keys, own := make([]string, len(requests)), make([]string, len(requests)), make([]string, len(requests))
	taken := map[[2]string]bool{}
	for i, r := range requests {
		callers[i], keys[i], own[i] = r.id.caller, r.id.key, r.id.ownRow()
		r.row, r.stored, r.response, r.locked = r.id.caller, nil, nil, false // the transaction may be a repeated one
	}
	next := 0
	return []pg.Query{
		{SQL: lockSQL, Args: []any{callers, keys}, Scan: pg.Each(func(rows pgx.Rows) error {
			r := requests[next]
			next++
			err := rows.Scan(&r.locked)
			lock := [2]string{r.id.caller, r.id.key}
			r.locked = r.locked && !taken[lock]
			taken[lock] = true
			return err
		})},
		{SQL: findSQL, Args: []any{callers, keys, own}, Scan: pg.Each(func(rows pgx.Rows) error {
			var i int
			var caller string
			var kind *string
			var hash, response []byte
			err := rows.Scan(&i, &caller, &kind, &hash, &response)
			if err == nil {
				requests[i-1].found(caller, kind, hash, response)
			}
			return err
		})},
	}
}

// ownRow returns the caller of the row of a kind that is not the first with its key.
func (k requestKey) ownRow() string { return k.caller + "/" + k.kind }

// found takes a row with the key of r. kind is nil in a row of the previous release.
func (r *Request) found(caller string, kind *string, hash, response []byte) {
	if caller == r.id.caller && kind != nil && *kind != r.id.kind {
		r.row = r.id.ownRow()
		return
	}
	r.stored, r.response = hash, response
}

// Replay reports whether an earlier request with the key is complete, and fills resp with its
// response. Otherwise the key is free, and the transaction holds it. The fault is
// IDEMPOTENCY_IN_PROGRESS while another request holds the key, and IDEMPOTENCY_KEY_REUSED if the key
// was used for another request.
func (r *Request) Replay(resp proto.Message) (bool, error) {
	switch {
	case r.stored != nil && string(r.stored) != string(r.hash):
		return false, errReused
	case r.stored != nil:
		if err := proto.Unmarshal(r.response, resp); err != nil {
			return false, fmt.Errorf("idempotency: stored response: %w", err)
		}
		r.replayed()
		return true, nil
	case !r.locked:
		return false, errInProgress
	}
	return false, nil
}

// Respond sets the response to store.
func (r *Request) Respond(resp proto.Message) (err error) {
	if r.response, err = (proto.MarshalOptions{}).MarshalAppend([]byte{}, resp); err != nil {
		return fmt.Errorf("idempotency: %w", err)
	}
	return nil
}

// Save returns the statement that stores the responses of requests that Lookup found free. It can be
// queued until the commit.
func Save(requests ...*Request) pg.Query {
	n := len(requests)
	callers, keys, kinds := make([]string, n), make([]string, n), make([]string, n)
	hashes, responses := make([][]byte, n), make([][]byte, n)
	for i, r := range requests {
		callers[i], keys[i], kinds[i], hashes[i], responses[i] = r.row, r.id.key, r.id.kind, r.hash, r.response
	}
	return pg.Query{SQL: saveSQL, Args: []any{callers, keys, kinds, hashes, responses, Kept.Seconds()}}.Affecting(n)
}

// Fingerprint identifies the caller and the key within a company, without revealing them. It is the
// same for all kinds of resources.
func (r *Request) Fingerprint() []byte {
	sum := sha256.Sum256([]byte(r.id.caller + "\x1f" + r.id.key))
	return sum[:16]
}

// Hash returns the hash of the request's message.
func (r *Request) Hash() []byte { return r.hash }

// Kind returns the kind of resource that the request is about.
func (r *Request) Kind() string { return r.id.kind }

// Continues returns nil if r repeats an unfinished request that has the same fingerprint, and the hash
// and kind that are given; kind is nil if it is unknown. The fault is IDEMPOTENCY_IN_PROGRESS if the
// unfinished request is of another kind, and IDEMPOTENCY_KEY_REUSED if it has another message.
func (r *Request) Continues(hash []byte, kind *string) error {
	switch {
	case string(hash) == string(r.hash):
		return nil
	case kind != nil && *kind != r.id.kind:
		return errInProgress
	default:
		return errReused
	}
}
