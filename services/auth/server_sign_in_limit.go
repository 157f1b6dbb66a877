package auth

import (
	"context"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

// countAttempt counts an attempt for each limit, or refuses it if it is too early. A refused
// attempt is not counted.
func (s *Server) countAttempt(ctx context.Context, limits ...signInLimit) error {
	now := s.instant()
	return s.store.Write(ctx, id.Company{}, func(ctx context.Context, tx *pg.Tx) error {
		var wait time.Duration
		for _, l := range limits {
			failed, last, err := s.store.lockFailures(ctx, tx, l, now)
			if err != nil {
				return err
			}
			wait = max(wait, last.Add(l.gap(failed)).Sub(now))
		}
		if wait > 0 {
			return tooManyAttempts(wait)
		}
		return s.store.countFailures(ctx, tx, limits, now)
	})
}

// forgetFailures deletes the failures of limits after a successful attempt.
func (s *Server) forgetFailures(ctx context.Context, limits ...signInLimit) {
	s.correctFailures(ctx, limits, nil)
}

// uncountAttempt stops counting an attempt that was not checked.
func (s *Server) uncountAttempt(ctx context.Context, limits ...signInLimit) {
	s.correctFailures(ctx, nil, limits)
}

// correctFailures corrects the counts after an attempt. If that fails, they stay too high: the next
// attempt may be delayed, but nobody is locked out.
func (s *Server) correctFailures(ctx context.Context, forget, uncount []signInLimit) {
	err := s.store.Write(ctx, id.Company{}, func(ctx context.Context, tx *pg.Tx) error {
		return s.store.correctFailures(ctx, tx, forget, uncount)
	})
	if err != nil && ctx.Err() == nil {
		s.log.Warn("failed sign-in attempts are not corrected, and count too high", "error", err.Error())
	}
}
