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
	t.Run("ends without an error when its context ends", func(t *testing.T) {
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
		"fails":                               {boom, boom},
		"returns early without an error":      {nil, errEarly},
		"returns context.Canceled by mistake": {context.Canceled, context.Canceled},
	} {
		t.Run("a member that "+name+" stops the others and is named in the error", func(t *testing.T) {
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
	t.Run("reports a member that fails while stopping", func(t *testing.T) {
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
		t.Errorf("the reasons are %v", got)
	}
	h.SetServing("b", false)
	h.Check("database", func(context.Context) error { return errors.New("away") })
	if got := h.Ready(t.Context()); len(got) != 2 || got["b"] == "" || got["database"] != "away" {
		t.Errorf("the reasons are %v", got)
	}
	h.SetServing("b", true)
	h.Check("database", func(context.Context) error { return nil })
	if got := h.Ready(t.Context()); len(got) > 0 {
		t.Errorf("the reasons are %v", got)
	}
	t.Run("a service that never becomes ready is never announced", func(t *testing.T) {
		h := NewHealth()
		ctx, stop := context.WithCancel(t.Context())
		stop()
		h.Announce(ctx, "a", func(ctx context.Context) error { return ctx.Err() })
		if got := h.Ready(t.Context()); len(got) == 0 {
			t.Error("ready")
		}
	})
}
