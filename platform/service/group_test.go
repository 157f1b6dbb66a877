package service

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"reservation.dev/devkit/testkit"
)

func untilEnd(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }

func TestGroup(t *testing.T) {
	boom := errors.New("boom")
	t.Run("ends well when it is asked to", func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		g := NewGroup(ctx, testkit.Log(t))
		g.Go("a", untilEnd)
		g.Go("b", func(ctx context.Context) error { <-ctx.Done(); return nil })
		stop()
		if err := g.Wait(); err != nil {
			t.Error(err)
		}
	})
	for name, tt := range map[string]struct {
		returns error
		want    error
	}{
		"fails":                            {boom, boom},
		"returns before it was asked to":   {nil, errEarly},
		"gives up for a reason of its own": {context.Canceled, context.Canceled},
	} {
		t.Run("a member that "+name+" ends the others, and is named", func(t *testing.T) {
			var log bytes.Buffer
			g := NewGroup(t.Context(), slog.New(slog.NewTextHandler(&log, nil)))
			g.Go("other", untilEnd)
			g.Go("copies", func(context.Context) error { return tt.returns })
			if err := g.Wait(); !errors.Is(err, tt.want) || !strings.HasPrefix(err.Error(), "copies: ") {
				t.Errorf("got %v", err)
			}
			if g.Context().Err() == nil || strings.Count(log.String(), "member ended") != 1 || !strings.Contains(log.String(), "member=copies") {
				t.Errorf("logged: %s", &log)
			}
		})
	}
	t.Run("what fails while it ends is a failure", func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		g := NewGroup(ctx, testkit.Log(t))
		g.Go("a", func(ctx context.Context) error { <-ctx.Done(); return boom })
		stop()
		if err := g.Wait(); !errors.Is(err, boom) {
			t.Errorf("got %v", err)
		}
	})
}

func TestHealth(t *testing.T) {
	h := NewHealth()
	if got := h.Ready(t.Context()); len(got) == 0 {
		t.Error("ready before anything serves")
	}
	h.SetServing("a", true)
	if got := h.Ready(t.Context()); len(got) > 0 {
		t.Errorf("waits for %v", got)
	}
	h.SetServing("b", false)
	h.Check("database", func(context.Context) error { return errors.New("away") })
	if got := h.Ready(t.Context()); len(got) != 2 || got["b"] == "" || got["database"] != "away" {
		t.Errorf("waits for %v", got)
	}
	h.SetServing("b", true)
	h.Check("database", func(context.Context) error { return nil })
	if got := h.Ready(t.Context()); len(got) > 0 {
		t.Errorf("waits for %v", got)
	}
	t.Run("a part that never gets ready is never announced", func(t *testing.T) {
		h := NewHealth()
		ctx, stop := context.WithCancel(t.Context())
		stop()
		h.Announce(ctx, "a", func(ctx context.Context) error { return ctx.Err() })
		if got := h.Ready(t.Context()); len(got) == 0 {
			t.Error("ready")
		}
	})
}
