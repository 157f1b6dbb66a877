package reports

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"reservation.dev/platform/bus"
)

// shuffled returns events in random order, some of them twice.
func shuffled(r *rand.Rand, msgs []bus.Message) []bus.Message {
	out := append([]bus.Message{}, msgs...)
	for _, m := range msgs {
		if r.IntN(4) == 0 {
			out = append(out, m)
		}
	}
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// TestModel compares read models that follow events in any order with those that are built from the
// snapshots, and both with brute force.
func TestModel(t *testing.T) { // invariants 1, 2, 3, 5 and 10
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("business ", seed), func(t *testing.T) {
			w := open(t)
			b := newBusiness(w, seed)
			w.handle(b.take()...) // starts the first build
			w.build()
			r := rand.New(rand.NewPCG(seed, 2))
			for range 4 {
				b.act(150)
				msgs := shuffled(r, b.take())
				for len(msgs) > 0 {
					n := min(len(msgs), 1+r.IntN(60))
					w.handle(msgs[:n]...)
					msgs = msgs[n:]
				}
				w.verify()
			}
			w.compare(b)
			followed := w.sums(w.status().GetGeneration())
			w.rebuild()
			w.verify()
			w.compare(b)
			built := w.sums(w.status().GetGeneration())
			sameSums(t, built, followed)
		})
	}
}
