package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"golang.org/x/sync/errgroup"
)

// Group runs the long-running members of a service. If one member fails, or returns
// although the service is not stopping, the group stops all of them.
type Group struct {
	ctx context.Context
	eg  *errgroup.Group
	log *slog.Logger
}

// NewGroup returns a group that ends with ctx.
func NewGroup(ctx context.Context, log *slog.Logger) *Group {
	eg, ctx := errgroup.WithContext(ctx)
	return &Group{ctx: ctx, eg: eg, log: log}
}

// Context ends when the group does.
func (g *Group) Context() context.Context { return g.ctx }

// errEarly is the error of a member that returned while the service was not stopping.
var errEarly = errors.New("stopped unexpectedly")

// Go runs one member until the group's context ends.
func (g *Group) Go(name string, run func(ctx context.Context) error) {
	g.eg.Go(func() error {
		err := run(g.ctx)
		switch {
		case g.ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)):
			return nil
		case err == nil:
			err = errEarly
		}
		g.log.Error("member ended", "member", name, "error", err.Error())
		return fmt.Errorf("%s: %w", name, err)
	})
}

// Wait waits until every member has returned, and returns the first failure.
func (g *Group) Wait() error { return g.eg.Wait() }
