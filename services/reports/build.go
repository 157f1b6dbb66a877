package reports

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/service"
)

// Builder builds read models from snapshots, and deletes those that were replaced.
type Builder struct {
	store     *store
	snapshots *Snapshots
	metrics   *metrics
	log       *slog.Logger
	now       func() time.Time
	newID     func() id.UUID
	// reached is called after each commit of a build, for tests. An error stops the build as the end of the
	// process would.
	reached func(step string) error
}

const (
	buildEvery  = time.Second
	removeEvery = 10 * time.Second
	// buildsAtOnce is the number of companies that a process builds at the same time.
	buildsAtOnce = 3
	// buildLease is how long after its last commit another process continues a build.
	buildLease = time.Minute
	// retiredKept is how long the rows of a replaced generation stay, for reports that are reading them.
	retiredKept = time.Minute
	lastRetry   = time.Minute
)

// RunJobs adds the periodic work to g. Any number of processes can run it.
func (b *Builder) RunJobs(g *service.Group, jobs *service.Jobs) {
	for range buildsAtOnce {
		g.Go("build_reports", func(ctx context.Context) error { return jobs.Every(ctx, "build_reports", buildEvery, b.buildOnce) })
	}
	g.Go("remove_reports", func(ctx context.Context) error { return jobs.Every(ctx, "remove_reports", removeEvery, b.removeOnce) })
}

// buildOnce builds read models until no build is due. A build that fails does not hold up others.
func (b *Builder) buildOnce(ctx context.Context) error {
	var faults []error
	for {
		now := b.now()
		c, err := b.store.claim(ctx, stateBuilding, b.newID(), now, now.Add(buildLease))
		if err != nil || c == nil {
			return errors.Join(append(faults, err)...)
		}
		err = b.build(ctx, c)
		switch {
		case err == nil, errors.Is(err, errLost):
		case ctx.Err() != nil, errors.Is(err, errStopped):
			return err
		default:
			faults = append(faults, err)
			b.log.WarnContext(ctx, "a build of reports failed; it is tried again", "company", c.Company.String(), "step", c.Step, "error", err)
			again := b.now().Add(min(time.Second<<min(c.Attempt, 6), lastRetry))
			if err := b.store.fail(ctx, c, fault.From(err).Message, again); err != nil {
				return errors.Join(append(faults, err)...)
			}
		}
	}
}

// errStopped ends a build in tests.
var errStopped = errors.New("the build was stopped")

// build continues a build with the step that it had reached.
func (b *Builder) build(ctx context.Context, c *claim) error {
	for {
		s := stepNamed(c.Step)
		if s == nil {
			now := b.now()
			if err := b.store.open(ctx, c, now, now.Add(retiredKept)); err != nil {
				return err
			}
			return b.report(lastStep)
		}
		if err := b.readStep(ctx, c, s); err != nil {
			return err
		}
		c.Step, c.AfterID = nextStep(s.name), ""
		if err := b.store.advance(ctx, c, nil, c.Step, "", 0, b.now().Add(buildLease)); err != nil {
			return err
		}
		if err := b.report(c.Step); err != nil {
			return err
		}
	}
}

// readStep applies a snapshot, in a transaction for each of its messages.
func (b *Builder) readStep(ctx context.Context, c *claim, s *step) error {
	return s.read(b.snapshots, b.snapshots.as(ctx, c.Company), c.AfterID, func(p *chunk) error {
		after := resume(c.AfterID, p.ids)
		if err := b.store.advance(ctx, c, p.facts, s.name, after, len(p.ids), b.now().Add(buildLease)); err != nil {
			return err
		}
		c.AfterID = after
		c.Attempt = 0
		b.metrics.rows.Add(float64(len(p.ids)))
		return b.report(s.name)
	})
}

// resume returns the item after which a build continues when the message with ids is applied. The last item
// can continue in the next message, so the build reads it again.
func resume(after string, ids []string) string {
	for i := len(ids) - 2; i >= 0; i-- {
		if ids[i] != ids[len(ids)-1] {
			return ids[i]
		}
	}
	return after
}

func (b *Builder) report(step string) error {
	if b.reached == nil {
		return nil
	}
	return b.reached(step)
}

// removeOnce deletes the generations that were replaced, in short transactions.
func (b *Builder) removeOnce(ctx context.Context) error {
	n, err := b.store.building(ctx)
	if err != nil {
		return err
	}
	b.metrics.building.Set(float64(n))
	for {
		now := b.now()
		c, err := b.store.claim(ctx, "retired", b.newID(), now, now.Add(buildLease))
		if err != nil || c == nil {
			return err
		}
		for _, table := range generationTables {
			for found := true; found; {
				if found, err = b.store.empty(ctx, c, table, b.now().Add(buildLease)); err != nil {
					return err
				}
			}
		}
		if err := b.store.forget(ctx, c); err != nil {
			return err
		}
	}
}
