package auth

import (
	"context"
	"crypto/sha256"
	"net/netip"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

// Passwords can be guessed, so unlike the failures of machines (throttle.go)
// theirs are counted in the database, for all replicas, and before the password
// is looked at: guesses in parallel are counted too. Beyond some failures the
// attempts are spaced out. Who guesses is in nobody's way but that of strangers to
// the same account in the same network: a browser that is known (device.go), or
// that is signed in, is counted by itself.

// paced is something that attempts are counted for.
type paced struct {
	subject string
	free    int           // failures without consequences
	longest time.Duration // between attempts
}

const (
	// failuresForgotten is how long nothing has to fail for the count to begin anew.
	failuresForgotten = 15 * time.Minute
	firstGap          = time.Second
)

// pacedPair is an e-mail address tried from one address.
func pacedPair(email, address string) paced {
	return paced{subject: "pair\x00" + emailKey(email) + "\x00" + network(address), free: 5, longest: 30 * time.Second}
}

// pacedAddress is all that is tried from one network by browsers that are not known.
func pacedAddress(address string) paced {
	return paced{subject: "address\x00" + network(address), free: 50, longest: 10 * time.Second}
}

// network is what one caller has: an address of IPv4, a /64 of IPv6.
func network(address string) string {
	parsed, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	parsed = parsed.Unmap().WithZone("")
	if parsed.Is4() {
		return parsed.String()
	}
	return netip.PrefixFrom(parsed, 64).Masked().String()
}

// pacedDevice is a browser that the administrator has signed in with.
func pacedDevice(d device) paced {
	return paced{subject: "device\x00" + string(d.nonce[:]), free: 5, longest: 30 * time.Second}
}

// pacedCodes are the codes of one administrator, from any address but in browsers
// that are known: who tries them has the password.
func pacedCodes(a id.Administrator) paced {
	return paced{subject: "codes\x00" + a.String(), free: 5, longest: time.Minute}
}

// pacedDeviceCodes are the codes that are tried in a browser that is known.
func pacedDeviceCodes(d device) paced {
	return paced{subject: "device codes\x00" + string(d.nonce[:]), free: 5, longest: time.Minute}
}

// pacedOwn is what an administrator who is signed in has to prove once more: only
// who has a session of theirs can fail at it.
func pacedOwn(a id.Administrator) paced {
	return paced{subject: "own\x00" + a.String(), free: 5, longest: 30 * time.Second}
}

// gap is how long an attempt must come after the last one, after that many failures.
func (p paced) gap(failed int) time.Duration {
	if failed < p.free {
		return 0
	}
	return min(firstGap<<min(failed-p.free, 10), p.longest)
}

// key is what is kept of the subject: an address that somebody typed is nobody's
// business.
func (p paced) key() []byte {
	sum := sha256.Sum256([]byte(p.subject))
	return sum[:]
}

const (
	// The row is there and locked afterwards, whoever comes first.
	lockFailuresSQL = `insert into sign_in_failures as f (subject, failures, last_at) values ($1, 0, $2)
		on conflict (subject) do update set failures = case when f.last_at < $3 then 0 else f.failures end
		returning failures, last_at`

	countFailureSQL = `update sign_in_failures set failures = failures + 1, last_at = $2 where subject = $1`

	forgetFailuresSQL = `delete from sign_in_failures where subject = $1`

	giveBackSQL = `update sign_in_failures set failures = greatest(failures - 1, 0) where subject = $1`

	pruneFailuresSQL = `delete from sign_in_failures where last_at < $1`
)

// attempt counts an attempt for each of what is given, or refuses it for coming
// too early, which counts for nothing.
func (s *Server) attempt(ctx context.Context, all ...paced) error {
	now := s.instant()
	return s.store.inTx(ctx, id.Company{}, func(ctx context.Context, tx *pg.Tx) error {
		var wait time.Duration
		for _, p := range all {
			var failed int
			var last time.Time
			if err := tx.QueryRow(ctx, lockFailuresSQL, p.key(), now, now.Add(-failuresForgotten)).Scan(&failed, &last); err != nil {
				return err
			}
			wait = max(wait, last.Add(p.gap(failed)).Sub(now))
		}
		if wait > 0 {
			return fault.New(fault.RateLimited, fault.ReasonRateLimitExceeded, "too many failed attempts, try again later").After(wait)
		}
		batch := &pgx.Batch{}
		for _, p := range all {
			batch.Queue(countFailureSQL, p.key(), now)
		}
		return tx.SendBatch(ctx, batch).Close()
	})
}

// passed forgets the failures of first, whose attempt turned out to be right, and
// takes this attempt back for the others.
func (s *Server) passed(ctx context.Context, first paced, others ...paced) {
	s.settle(ctx, func(batch *pgx.Batch) {
		batch.Queue(forgetFailuresSQL, first.key())
		for _, p := range others {
			batch.Queue(giveBackSQL, p.key())
		}
	})
}

// forget drops the failures of all that turned out to be right.
func (s *Server) forget(ctx context.Context, all ...paced) {
	s.settle(ctx, func(batch *pgx.Batch) {
		for _, p := range all {
			batch.Queue(forgetFailuresSQL, p.key())
		}
	})
}

// takeBack takes an attempt back that was neither right nor wrong.
func (s *Server) takeBack(ctx context.Context, all ...paced) {
	s.settle(ctx, func(batch *pgx.Batch) {
		for _, p := range all {
			batch.Queue(giveBackSQL, p.key())
		}
	})
}

// settle corrects the counts. What fails is reported and leaves them too high,
// which costs somebody a pause and nobody an account.
func (s *Server) settle(ctx context.Context, queue func(*pgx.Batch)) {
	err := s.store.inTx(ctx, id.Company{}, func(ctx context.Context, tx *pg.Tx) error {
		batch := &pgx.Batch{}
		queue(batch)
		return tx.SendBatch(ctx, batch).Close()
	})
	if err != nil && ctx.Err() == nil {
		s.log.Warn("failures of signing in", "error", err.Error())
	}
}
