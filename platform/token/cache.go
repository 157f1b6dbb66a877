package token

import (
	"crypto/ed25519"
	"hash/maphash"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// ways is the number of slots in which one token can be.
const ways = 8

// cache holds verified tokens in a fixed number of slots. Reading takes no lock and writes nothing,
// so readers on many cores do not slow each other down. When all slots for a token are taken, one
// of them is overwritten.
//
// A slot is found by a hash with a seed of this process. The token itself is compared only if all
// 64 bits of the hash match, so timing reveals nothing about other tokens.
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
	// epoch is the verifier's epoch when the key and the generation were last checked.
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

// put stores e in the slot of the same token, a free slot, a slot whose token has expired, or any
// of its slots.
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
