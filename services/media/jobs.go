package media

import (
	"context"
	"errors"
	"slices"
	"time"

	"reservation.dev/platform/id"
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
		due, err := s.store.claimRemovals(ctx, lease, now, now.Add(removalLease), atOnce)
		if err != nil {
			return errors.Join(append(faults, err)...)
		}
		var removed []removal
		for _, r := range due {
			if r.Named {
				continue
			}
			if err := s.bucket.remove(ctx, r.Key); err != nil {
				faults = append(faults, err)
				continue
			}
			removed = append(removed, r)
		}
		if err := s.store.finishRemovals(ctx, lease, removed); err != nil {
			return errors.Join(append(faults, err)...)
		}
		if len(due) < atOnce {
			break
		}
	}
	open, late, err := s.store.gauges(ctx, s.now().Add(-overdueAfter))
	s.metrics.open.Set(float64(open))
	s.metrics.overdue.Set(float64(late))
	return errors.Join(append(faults, err)...)
}

// The sweep removes nothing if more objects than both of these have no row: then a database was probably
// restored.
const (
	sweepObjects = 10
	sweepPercent = 10
)

// errTooManyUnnamed stops a sweep.
var errTooManyUnnamed = errors.New("too many objects in the bucket have no row: the sweep removed nothing")

// sweepOnce has the old objects removed that no row names. They are removed after MEDIA_REMOVAL_DELAY, and
// only if no row names them then. It ignores objects of companies that the database does not have, because
// they can belong to another installation.
func (s *Server) sweepOnce(ctx context.Context) error {
	total, unnamed := 0, candidates{}
	before := s.now().Add(-orphanAge)
	err := s.bucket.list(ctx, "", func(page []stored) error {
		objects, old, err := s.ownObjects(ctx, page, before)
		if err != nil {
			return err
		}
		total += objects
		found, err := s.store.unnamed(ctx, old)
		if err == nil {
			unnamed.addOnly(old, found)
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

// ownObjects returns the number of objects in a page of the bucket whose companies the database has, and
// those of them that were written before a time.
func (s *Server) ownObjects(ctx context.Context, page []stored, before time.Time) (total int, old candidates, err error) {
	var companies []id.Company
	for _, o := range page {
		if company, _, ok := parseKey(o.key); ok && !slices.Contains(companies, company) {
			companies = append(companies, company)
		}
	}
	known, err := s.store.knownCompanies(ctx, companies)
	if err != nil {
		return 0, old, err
	}
	for _, o := range page {
		company, object, ok := parseKey(o.key)
		if !ok || !known[company] {
			continue
		}
		total++
		if o.written.Before(before) {
			old.add(candidate{o.key, company, object})
		}
	}
	return total, old, nil
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
