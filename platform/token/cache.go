package token

import (
	"crypto/ed25519"
	"hash/maphash"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// ways is the number of places that one token can be at.
const ways = 8

// cache holds verified tokens in a fixed number of places. Reading takes no
// lock and writes nothing, so that readers on many cores do not disturb each
// other; when the places of a token are full, one of them is overwritten.
//
// A place is found by a hash with a seed of this process, and the token is
// compared whole only where all 64 bits of the hash agree: timing tells a
// stranger nothing about the tokens of others.
type cache struct {
	seed maphash.Seed
	mask uint64
	sets [][ways]atomic.Pointer[entry]
}

// entry is one verified token.
type entry struct {
	hash    uint64
	claims  *Claims
	expires int64 // unix nanoseconds
	kid     string
	key     ed25519.PublicKey
	// epoch is the verifier's when the key and the generation were last checked.
	epoch atomic.Uint64
}

// newCache returns a cache for at least size tokens.
func newCache(size int) *cache {
	sets := 1
	for sets*ways < size {
		sets *= 2
	}
	return &cache{seed: maphash.MakeSeed(), mask: uint64(sets - 1), sets: make([][ways]atomic.Pointer[entry], sets)}
}

func (c *cache) get(raw string) *entry {
	h := maphash.String(c.seed, raw)
	set := &c.sets[h&c.mask]
	for i := range set {
		if e := set[i].Load(); e != nil && e.hash == h && e.claims.Raw == raw {
			return e
		}
	}
	return nil
}

// put stores e in the place of the same token, a free place, one whose token
// has expired, or any of them.
func (c *cache) put(e *entry, now time.Time) {
	e.hash = maphash.String(c.seed, e.claims.Raw)
	set := &c.sets[e.hash&c.mask]
	place := rand.IntN(ways)
	for i := range set {
		old := set[i].Load()
		if old != nil && old.hash == e.hash && old.claims.Raw == e.claims.Raw {
			place = i
			break
		}
		if old == nil || old.expires <= now.UnixNano() {
			place = i
		}
	}
	set[place].Store(e)
}
