// Package id creates, parses and formats the identifiers of the platform. An identifier is
// a prefix for the kind of resource, followed by a time-ordered UUID (version 7) in 26
// characters of lower-case Crockford base32, as in TypeID:
//
//	cust_01jb4x9m3vf6ksn8w2d7pq5r0t
//
// Companies and credentials exist in live mode or in test mode. In test mode the UUID has
// version 8, and "test_" follows the prefix:
//
//	key_test_01jb4x9m3vg6ksn8w2d7pq5r0t
//
// Databases store only the UUID, in a column of type uuid. Each kind of resource has its
// own Go type, so the compiler refuses a customer's identifier where an event's is expected.
package id

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"
)

// ErrMalformed reports a string that is not an identifier of the expected kind. Callers
// must respond to it exactly as to an identifier that does not exist.
var ErrMalformed = errors.New("malformed identifier")

// UUID is an identifier without a kind, for example of a domain event, a request or a lease.
type UUID [16]byte

// NewUUID returns a time-ordered UUID (version 7). Later calls in one process
// sort after earlier ones.
func NewUUID() UUID { return UUID(uuid.Must(uuid.NewV7())) }

// After returns u with its time of creation moved later by d. u must be time-ordered.
func (u UUID) After(d time.Duration) UUID {
	var at [8]byte
	copy(at[2:], u[:6])
	binary.BigEndian.PutUint64(at[:], binary.BigEndian.Uint64(at[:])+uint64(d.Milliseconds()))
	copy(u[:6], at[2:])
	return u
}

// String returns u as 26 characters of Crockford base32.
func (u UUID) String() string {
	var b [encodedLen]byte
	encode(&b, u)
	return string(b[:])
}

// Time returns the time at which a time-ordered UUID was made, to the millisecond.
func (u UUID) Time() time.Time {
	return time.UnixMilli(int64(binary.BigEndian.Uint64(u[:8]) >> 16)).UTC()
}

// First returns the lowest UUID that is made at t or later: the UUIDs whose Time is not before t are
// those from First(t) on. It is the zero value for times before 1970.
func First(t time.Time) (u UUID) {
	if ms := t.Add(time.Millisecond - 1).UnixMilli(); ms > 0 {
		binary.BigEndian.PutUint64(u[:8], uint64(ms)<<16)
	}
	return u
}

// IsZero reports whether u is the zero value.
func (u UUID) IsZero() bool { return u == UUID{} }

// UUIDValue implements pgtype.UUIDValuer. The zero value is NULL.
func (u UUID) UUIDValue() (pgtype.UUID, error) {
	return pgtype.UUID{Bytes: u, Valid: !u.IsZero()}, nil
}

// ScanUUID implements pgtype.UUIDScanner. NULL becomes the zero value.
func (u *UUID) ScanUUID(v pgtype.UUID) error {
	*u = UUID(v.Bytes)
	return nil
}

// ParseUUID parses the text that UUID.String returns. The only error is ErrMalformed.
func ParseUUID(s string) (UUID, error) {
	raw, ok := decode(s)
	if !ok {
		return UUID{}, ErrMalformed
	}
	return UUID(raw), nil
}

// Kind names a resource by the prefix of its identifiers.
type Kind interface{ Prefix() string }

// ID is the identifier of one kind of resource. The zero value means "none"; it is NULL in
// a database and "" as text. Only the text "" becomes the zero value: 26 zeros after the
// prefix are malformed.
type ID[K Kind] [16]byte

// New returns a new identifier of kind T, for example id.New[id.Customer]().
func New[T ~[16]byte]() T { return T(NewUUID()) }

// Parse parses an identifier of kind T, for example id.Parse[id.Customer](s). The only
// error is ErrMalformed.
func Parse[T any, P interface {
	*T
	parse(s string) error
}](s string) (T, error) {
	var v T
	err := P(&v).parse(s)
	return v, err
}

// Filter parses an identifier that filters a list. It returns nil, which means no filter,
// if s is "". For a malformed identifier it returns the zero value. That is NULL in a
// database, so it matches no row, like an identifier that does not exist.
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
	rest, ok := strings.CutPrefix(s, k.Prefix())
	if !ok {
		return ErrMalformed
	}
	inTestMode := false
	if hasMode(k) {
		rest, inTestMode = strings.CutPrefix(rest, testMark)
	}
	raw, ok := decode(rest)
	if !ok || raw == [16]byte{} { // the zero value would mean that the caller named none
		return ErrMalformed
	}
	if hasMode(k) && !matchesMode(k, raw, inTestMode) {
		return ErrMalformed
	}
	*i = raw
	return nil
}

// String returns the prefix and the base32 form, or "" for the zero value.
func (i ID[K]) String() string {
	if i.IsZero() {
		return ""
	}
	return string(i.Append(nil))
}

// Append appends the prefix and the base32 form to b. It does not allocate if b has room.
func (i ID[K]) Append(b []byte) []byte {
	var k K
	var enc [encodedLen]byte
	encode(&enc, i)
	b = append(b, k.Prefix()...)
	if hasMode(k) && i.IsTest() {
		b = append(b, testMark...)
	}
	return append(b, enc[:]...)
}

// IsZero reports whether i is the zero value.
func (i ID[K]) IsZero() bool { return i == ID[K]{} }

// UUID returns the identifier without its kind.
func (i ID[K]) UUID() UUID { return UUID(i) }

// MarshalText implements encoding.TextMarshaler with the form of String.
func (i ID[K]) MarshalText() ([]byte, error) { return []byte(i.String()), nil }

// UnmarshalText parses the text that MarshalText returns. "" becomes the zero value. The
// error wraps ErrMalformed.
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

// UUIDValue implements pgtype.UUIDValuer. The zero value is NULL.
func (i ID[K]) UUIDValue() (pgtype.UUID, error) {
	return pgtype.UUID{Bytes: i, Valid: !i.IsZero()}, nil
}

// ScanUUID implements pgtype.UUIDScanner. NULL becomes the zero value.
func (i *ID[K]) ScanUUID(v pgtype.UUID) error {
	*i = ID[K](v.Bytes)
	return nil
}
