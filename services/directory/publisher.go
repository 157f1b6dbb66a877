package directory

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

const (
	// publishEvery is how often the publisher looks for a new HAProxy.
	publishEvery = time.Second
	// startLimit is how long the publisher waits for the first answer of every cell.
	startLimit = 10 * time.Second
	// companiesFileEvery and credentialsFileEvery are how often the files are written at most, because they are
	// large. A HAProxy that starts in between has the lines of the files until publishEvery has passed.
	companiesFileEvery   = time.Second
	credentialsFileEvery = 10 * time.Second
)

// publisher writes the table to HAProxy and to the files.
type publisher struct {
	table   *table
	haproxy *haproxy
	files   files
	metrics *metrics
	log     *slog.Logger

	failing bool
	written map[mapName]time.Time // when the files were written
}

// run publishes until ctx ends. It begins when the cells have been read, or could not be.
func (p *publisher) run(ctx context.Context, tried <-chan struct{}) error {
	select {
	case <-ctx.Done():
		return nil
	case <-tried:
	case <-time.After(startLimit):
	}
	ticker := time.NewTicker(publishEvery)
	defer ticker.Stop()
	for {
		p.note(p.once(ctx))
		select {
		case <-ctx.Done():
			// A HAProxy that starts while this program does not run has the latest lines.
			clear(p.written)
			return p.writeFiles()
		case <-ticker.C:
		case <-p.table.changed:
		}
	}
}

// note logs when publishing begins to fail, and when it succeeds again.
func (p *publisher) note(err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	switch {
	case err != nil && !p.failing:
		p.log.Error("the router could not be updated; it continues with the maps it has", "error", err)
	case err == nil && p.failing:
		p.log.Info("the router is up to date again")
	}
	p.failing = err != nil
	p.metrics.published(err)
}

// once publishes what has changed.
func (p *publisher) once(ctx context.Context) error {
	return errors.Join(p.update(ctx), p.writeFiles())
}

// update brings HAProxy up to date. // invariant 5
func (p *publisher) update(ctx context.Context) error {
	restarted, err := p.haproxy.hasRestarted(ctx)
	if err != nil || restarted {
		p.table.needWhole()
	}
	if err != nil {
		return err
	}
	if p.table.knowsNothing() {
		return nil // invariant 4
	}
	if restarted { // perhaps because its files were lost
		p.table.setStale(companiesMap)
		p.table.setStale(credentialsMap)
	}
	ops, whole := p.table.takeOps()
	if whole {
		err = p.replace(ctx)
	}
	for _, o := range ops {
		if err = p.haproxy.apply(ctx, o); err != nil {
			break
		}
	}
	if err != nil {
		p.table.needWhole()
	}
	return err
}

// replace replaces both maps, companies first: the line of a credential is of no use without its company.
func (p *publisher) replace(ctx context.Context) error {
	for _, m := range []mapName{companiesMap, credentialsMap} {
		if err := p.haproxy.replace(ctx, m, p.table.lines(m)); err != nil {
			return err
		}
	}
	return nil
}

// writeFiles writes the files that differ, unless they were written a short time ago.
func (p *publisher) writeFiles() error {
	if p.table.knowsNothing() {
		return nil // invariant 4
	}
	var faults []error
	for m, every := range map[mapName]time.Duration{companiesMap: companiesFileEvery, credentialsMap: credentialsFileEvery} {
		if time.Since(p.written[m]) < every {
			continue
		}
		lines, stale := p.table.takeFile(m)
		if !stale {
			continue
		}
		p.written[m] = time.Now()
		if err := p.files.write(m, lines); err != nil {
			p.table.setStale(m)
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}
