// Package id makes and reads the identifiers of the platform: a prefix that
// names the resource, followed by a time-ordered UUID (version 7) in 26
// characters of lower-case Crockford base32, as TypeID writes it:
//
//	cust_01jb4x9m3vf6ksn8w2d7pq5r0t
//
// In a database the same value is a plain uuid. Each resource has a Go type of
// its own, so that one cannot be passed where another is meant.
package id

import (
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"
)

// ErrMalformed reports a string that no identifier of the wanted kind is
// written as. Callers answer it exactly like an identifier that does not exist.
var ErrMalformed = errors.New("malformed identifier")

// UUID is an identifier without a kind: an event's, a request's, a lease's.
type UUID [16]byte

// NewUUID returns a time-ordered UUID (version 7). Later calls in one process
// sort after earlier ones.
func NewUUID() UUID { return UUID(uuid.Must(uuid.NewV7())) }

// String writes the UUID as 26 characters of Crockford base32.
func (u UUID) String() string {
	var b [encodedLen]byte
	encode(&b, u)
	return string(b[:])
}

// IsZero reports whether u was never set.
func (u UUID) IsZero() bool { return u == UUID{} }

// UUIDValue lets pgx send u as a uuid.
func (u UUID) UUIDValue() (pgtype.UUID, error) {
	return pgtype.UUID{Bytes: u, Valid: !u.IsZero()}, nil
}

// ScanUUID lets pgx fill u from a uuid; NULL becomes the zero value.
func (u *UUID) ScanUUID(v pgtype.UUID) error {
	*u = UUID(v.Bytes)
	return nil
}

// ParseUUID reads what UUID.String writes.
func ParseUUID(s string) (UUID, error) {
	raw, ok := decode(s)
	if !ok {
		return UUID{}, ErrMalformed
	}
	return UUID(raw), nil
}

// Kind names a resource by the prefix of its identifiers.
type Kind interface{ Prefix() string }

// ID is the identifier of one kind of resource. The zero value stands for
// "none"; it is NULL in a database and "" as text. No text other than "" reads as
// the zero value: the identifier with 26 zeros is one that does not exist.
type ID[K Kind] [16]byte

// New returns a fresh identifier: id.New[id.Customer]().
func New[T ~[16]byte]() T { return T(NewUUID()) }

// Parse reads an identifier of kind T: id.Parse[id.Customer](s). The only error
// is ErrMalformed.
func Parse[T any, P interface {
	*T
	parse(s string) error
}](s string) (T, error) {
	var v T
	err := P(&v).parse(s)
	return v, err
}

// Filter reads the identifier that a list is narrowed to; it is nil if s is "",
// which narrows nothing. A malformed identifier becomes the zero value: that is
// NULL in a database and equals no row, like an identifier that does not exist.
func Filter[T any, P interface {
	*T
	parse(s string) error
}](s string) *T {
	if s == "" {
		return nil
	}
	v, err := Parse[T, P](s)
	if err != nil {
		v = *new(T)
	}
	return &v
}

func (i *ID[K]) parse(s string) error {
	var k K
	p := k.Prefix()
	if len(s) != len(p)+encodedLen || s[:len(p)] != p {
		return ErrMalformed
	}
	raw, ok := decode(s[len(p):])
	if !ok || raw == [16]byte{} { // a caller who names one must never be taken for one who names none
		return ErrMalformed
	}
	*i = raw
	return nil
}

// String writes the prefix and the base32 form, or "" for the zero value.
func (i ID[K]) String() string {
	if i.IsZero() {
		return ""
	}
	return string(i.Append(nil))
}

// Append writes i to b as String does, without allocating.
func (i ID[K]) Append(b []byte) []byte {
	var k K
	var enc [encodedLen]byte
	encode(&enc, i)
	b = append(b, k.Prefix()...)
	return append(b, enc[:]...)
}

// IsZero reports whether i was never set.
func (i ID[K]) IsZero() bool { return i == ID[K]{} }

// UUID drops the kind.
func (i ID[K]) UUID() UUID { return UUID(i) }

// MarshalText writes i as String does.
func (i ID[K]) MarshalText() ([]byte, error) { return []byte(i.String()), nil }

// UnmarshalText reads what MarshalText writes; "" is the zero value.
func (i *ID[K]) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*i = ID[K]{}
		return nil
	}
	if err := i.parse(string(text)); err != nil {
		var k K
		return fmt.Errorf("%w: want %s and %d characters", err, k.Prefix(), encodedLen)
	}
	return nil
}

// UUIDValue lets pgx send i as a uuid; the zero value is NULL.
func (i ID[K]) UUIDValue() (pgtype.UUID, error) {
	return pgtype.UUID{Bytes: i, Valid: !i.IsZero()}, nil
}

// ScanUUID lets pgx fill i from a uuid; NULL becomes the zero value.
func (i *ID[K]) ScanUUID(v pgtype.UUID) error {
	*i = ID[K](v.Bytes)
	return nil
}
