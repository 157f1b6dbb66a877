package auth

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/seal"
)

// After an administrator has signed in, the browser keeps an encrypted token that makes it known.
// Attempts in a known browser are counted separately. Somebody who guesses the password elsewhere,
// or in the same network, therefore delays only browsers that are not known. The token is not a
// credential: without the password it permits nothing but slow guessing.

const (
	deviceLifetime = 180 * 24 * time.Hour
	// deviceRenewed is the age at which a browser gets a new token.
	deviceRenewed = 30 * 24 * time.Hour
	// maxDevices is how many tokens of a browser are read, keptDevices how many it keeps: several
	// people can share a computer, and a cookie is small.
	maxDevices  = 8
	keptDevices = 5

	nonceSize  = 16
	deviceSize = 16 + nonceSize + 8
)

// device is a browser in which an administrator has signed in.
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

// belongsTo reports whether the browser is known for the administrator.
func (d device) belongsTo(a Administrator, now time.Time) bool {
	return d.administrator == a.ID && !a.ID.IsZero() && now.Before(d.issued.Add(deviceLifetime)) &&
		(a.DevicesSince == nil || !d.issued.Before(*a.DevicesSince))
}

// deviceContext binds an encrypted token to its purpose.
func deviceContext() []byte { return []byte("device") }

func (d device) seal(s *seal.Sealer) string {
	plain := make([]byte, 0, deviceSize)
	plain = append(plain, d.administrator[:]...)
	plain = append(plain, d.nonce[:]...)
	plain = binary.BigEndian.AppendUint64(plain, uint64(d.issued.UnixMicro()))
	return base64.RawURLEncoding.EncodeToString(s.Seal(plain, deviceContext()))
}

// openDevice reads a token; ok is false if it is not valid.
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

// knownDevice returns the browser with the given tokens if it is known for the administrator; nil:
// it is not.
func knownDevice(sealer *seal.Sealer, a Administrator, tokens []string, now time.Time) *device {
	for _, token := range tokens[:min(len(tokens), maxDevices)] {
		if d, ok := openDevice(sealer, token); ok && d.belongsTo(a, now) {
			return &d
		}
	}
	return nil
}

// keepDevices returns the tokens that a browser keeps after the administrator has signed in: one
// token of theirs, and those of other administrators who use the browser too.
func keepDevices(sealer *seal.Sealer, a Administrator, tokens []string, now time.Time) []string {
	var own string
	var others []string
	for _, token := range tokens[:min(len(tokens), maxDevices)] {
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
