package id

import "encoding/binary"

// encodedLen is the length of 128 bits in base32. The first character carries only three
// bits, so it is at most '7'.
const encodedLen = 26

const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"

const invalid = 0xff

// digits maps a character to its value. Upper-case characters are invalid, because an
// identifier has only one spelling.
var digits = func() (t [256]byte) {
	for i := range t {
		t[i] = invalid
	}
	for v, c := range []byte(alphabet) {
		t[c] = byte(v)
	}
	return t
}()

func encode(dst *[encodedLen]byte, src [16]byte) {
	hi, lo := binary.BigEndian.Uint64(src[:8]), binary.BigEndian.Uint64(src[8:])
	for i := encodedLen - 1; i >= 0; i-- {
		dst[i] = alphabet[lo&31]
		lo = lo>>5 | hi<<59
		hi >>= 5
	}
}

func decode(s string) (raw [16]byte, ok bool) {
	if len(s) != encodedLen || s[0] > '7' {
		return raw, false
	}
	var hi, lo uint64
	for i := range encodedLen {
		d := digits[s[i]]
		if d == invalid {
			return raw, false
		}
		hi = hi<<5 | lo>>59
		lo = lo<<5 | uint64(d)
	}
	binary.BigEndian.PutUint64(raw[:8], hi)
	binary.BigEndian.PutUint64(raw[8:], lo)
	return raw, true
}
