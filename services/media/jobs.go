package media

import (
	"context"
	"errors"
	"time"

	"reservation.dev/platform/service"
)

const (
	expireEvery  = time.Minute
	removeEvery  = time.Minute
	sweepEvery   = 6 * time.Hour
	atOnce       = 100
	removalLease = 5 * time.Minute
	overdueAfter = time.Hour
	// Younger objects can be named soon: the row follows the object.
	orphanAge = 48 * time.Hour
)

// RunJobs adds the periodic work to g. Any number of processes can run it.
func (s *Server) RunJobs(g *service.Group, jobs *service.Jobs) {
	every := func(name string, interval time.Duration, once func(context.Context) error) {
		g.Go(name, func(ctx context.Context) error { return jobs.Every(ctx, name, interval, once) })
	}
	g.Go("joins", func(ctx context.Context) error { return s.joins.Run(ctx, jobs) })
	every("expire_uploads", expireEvery, s.expireOnce)
	every("remove_files", removeEvery, s.removeOnce)
	every("sweep_bucket", sweepEvery, s.sweepOnce)
}

// expireOnce ends the uploads that have expired, and deletes those that ended long ago.
func (s *Server) expireOnce(ctx context.Context) error {
	now := s.now()
	for {
		expired, err := s.store.expired(ctx, now, atOnce)
		if err != nil {
			return err
		}
		for _, u := range expired {
			if err := s.store.expire(ctx, u, now); err != nil {
				return err
			}
		}
		if len(expired) < atOnce {
			break
		}
	}
	for {
		if n, err := s.store.pruneUploads(ctx, now.Add(-uploadKept), atOnce); err != nil || n < atOnce {
			return err
		}
	}
}

// removeOnce removes the objects that are due. An object that cannot be removed does not hold up others:
// its lease ends later.
func (s *Server) removeOnce(ctx context.Context) error {
	var faults []error
	for {
		now, lease := s.now(), s.newID()
		keys, err := s.store.claimRemovals(ctx, lease, now, now.Add(removalLease), atOnce)
		if err != nil {
			return errors.Join(append(faults, err)...)
		}
		var removed []string
		for _, key := range keys {
			if err := s.bucket.remove(ctx, key); err != nil {
				faults = append(faults, err)
				continue
			}
			removed = append(removed, key)
		}
		if err := s.store.finishRemovals(ctx, lease, removed); err != nil {
			return errors.Join(append(faults, err)...)
		}
		if len(keys) < atOnce {
			break
		}
	}
	open, late, err := s.store.gauges(ctx, s.now().Add(-overdueAfter))
	s.metrics.open.Set(float64(open))
	s.metrics.overdue.Set(float64(late))
	return errors.Join(append(faults, err)...)
}

// The sweep removes nothing if more objects than both of these have no row: then a database is probably
// empty or restored, or the bucket is that of another installation.
const (
	sweepObjects = 100
	sweepPercent = 10
)

// errTooManyUnnamed stops a sweep.
var errTooManyUnnamed = errors.New("too many objects in the bucket have no row: the sweep removed nothing")

// sweepOnce has the old objects removed that no row names. They are removed after MEDIA_REMOVAL_DELAY, and
// only if no row names them then.
func (s *Server) sweepOnce(ctx context.Context) error {
	total, unnamed := 0, candidates{}
	before := s.now().Add(-orphanAge)
	err := s.bucket.list(ctx, "", func(page []stored) error {
		var c candidates
		for _, o := range page {
			company, object, ok := parseKey(o.key)
			if !ok {
				continue
			}
			total++
			if o.written.Before(before) {
				c.add(candidate{o.key, company, object})
			}
		}
		found, err := s.store.unnamed(ctx, c)
		if err == nil {
			unnamed.addOnly(c, found)
		}
		return err
	})
	if err != nil {
		return err
	}
	n := len(unnamed.keys)
	s.metrics.unnamed.Set(float64(n))
	if n > sweepObjects && n*100 > total*sweepPercent {
		s.metrics.stopped.Set(1)
		return errTooManyUnnamed
	}
	s.metrics.stopped.Set(0)
	return s.removeLater(ctx, unnamed, s.now().Add(s.settings.RemovalDelay))
}

// removeLater has objects removed at a time, in several commits.
func (s *Server) removeLater(ctx context.Context, c candidates, due time.Time) error {
	for len(c.keys) > 0 {
		n := min(len(c.keys), listedAtOnce)
		if err := s.store.addRemovals(ctx, candidates{c.keys[:n], c.companies[:n], c.objects[:n]}, due); err != nil {
			return err
		}
		c = candidates{c.keys[n:], c.companies[n:], c.objects[n:]}
	}
	return nil
}
