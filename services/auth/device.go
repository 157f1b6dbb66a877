package auth

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/seal"
)

// A browser in which an administrator has signed in is known from then on: it keeps a
// sealed token, and its attempts are counted by themselves. So somebody who guesses at
// the password, from elsewhere or from the same network, gets in the way of strangers
// only. The token is not a credential: without the password it leads no further than
// slow guessing.

const (
	deviceLifetime = 180 * 24 * time.Hour
	// deviceRenewed is the age at which a browser gets another token.
	deviceRenewed = 30 * 24 * time.Hour
	// mostDevices are looked at, keptDevices are given back: a desk has several
	// people, a cookie is small.
	mostDevices = 8
	keptDevices = 5

	nonceSize  = 16
	deviceSize = 16 + nonceSize + 8
)

// device is a browser that an administrator has signed in with.
type device struct {
	administrator id.Administrator
	nonce         [nonceSize]byte
	issued        time.Time
}

func newDevice(a id.Administrator, now time.Time) device {
	d := device{administrator: a, issued: now}
	_, _ = rand.Read(d.nonce[:]) // never fails
	return d
}

// belongsTo reports whether the browser is known as one of the administrator's.
func (d device) belongsTo(a Administrator, now time.Time) bool {
	return d.administrator == a.ID && !a.ID.IsZero() && now.Before(d.issued.Add(deviceLifetime)) &&
		(a.DevicesSince == nil || !d.issued.Before(*a.DevicesSince))
}

// deviceContext is what a sealed token is bound to.
func deviceContext() []byte { return []byte("device") }

func (d device) seal(s *seal.Sealer) string {
	plain := make([]byte, 0, deviceSize)
	plain = append(plain, d.administrator[:]...)
	plain = append(plain, d.nonce[:]...)
	plain = binary.BigEndian.AppendUint64(plain, uint64(d.issued.UnixMicro()))
	return base64.RawURLEncoding.EncodeToString(s.Seal(plain, deviceContext()))
}

// openDevice reads a token; ok is false for what is none.
func openDevice(s *seal.Sealer, token string) (d device, ok bool) {
	if len(token) > 200 {
		return d, false
	}
	sealed, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return d, false
	}
	plain, err := s.Open(sealed, deviceContext())
	if err != nil || len(plain) != deviceSize {
		return d, false
	}
	copy(d.administrator[:], plain)
	copy(d.nonce[:], plain[16:])
	d.issued = time.UnixMicro(int64(binary.BigEndian.Uint64(plain[16+nonceSize:]))).UTC()
	return d, true
}

// knownDevice returns the browser that has some tokens if it is known as one of the
// administrator's; nil: it is not.
func knownDevice(sealer *seal.Sealer, a Administrator, tokens []string, now time.Time) *device {
	for _, token := range tokens[:min(len(tokens), mostDevices)] {
		if d, ok := openDevice(sealer, token); ok && d.belongsTo(a, now) {
			return &d
		}
	}
	return nil
}

// keepDevices returns what a browser keeps after the administrator has proved who
// they are: one token of theirs, and those of other administrators who use it too.
func keepDevices(sealer *seal.Sealer, a Administrator, tokens []string, now time.Time) []string {
	var own string
	var others []string
	for _, token := range tokens[:min(len(tokens), mostDevices)] {
		d, ok := openDevice(sealer, token)
		switch {
		case !ok || !now.Before(d.issued.Add(deviceLifetime)):
		case d.administrator != a.ID:
			others = append(others, token)
		case own == "" && d.belongsTo(a, now) && now.Before(d.issued.Add(deviceRenewed)):
			own = token
		}
	}
	if own == "" {
		own = newDevice(a.ID, now).seal(sealer)
	}
	return append([]string{own}, others[:min(len(others), keptDevices-1)]...)
}
