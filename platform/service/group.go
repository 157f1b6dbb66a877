package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"golang.org/x/sync/errgroup"
)

// Group runs the long-running members of a part. The first one that fails, or
// returns although the part was not asked to end, ends all of them.
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

// errEarly is the end of what should have gone on.
var errEarly = errors.New("returned before it was asked to")

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

// Wait returns when every member has, with the first failure.
func (g *Group) Wait() error { return g.eg.Wait() }
