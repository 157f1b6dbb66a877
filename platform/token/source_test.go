package token_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"reservation.dev/platform/token"
)

// fetcher is a slow auth service.
type fetcher struct {
	calls atomic.Int64
	takes time.Duration
	lives time.Duration
	mu    sync.Mutex
	err   error
}

func (f *fetcher) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

func (f *fetcher) fetch(ctx context.Context) (string, time.Time, error) {
	n := f.calls.Add(1)
	select {
	case <-time.After(f.takes):
	case <-ctx.Done():
		return "", time.Time{}, ctx.Err()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return "", time.Time{}, f.err
	}
	return "token " + strconv.FormatInt(n, 10), time.Now().Add(f.lives), nil
}

// inTime runs a test with a fake clock, so that waiting takes no time.
func inTime(t *testing.T, name string, f *fetcher, test func(t *testing.T, s *token.Source)) {
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			test(t, token.NewSource(f.fetch))
			synctest.Wait()
		})
	})
}

func want(t *testing.T, s *token.Source, token string) {
	t.Helper()
	if got, err := s.Token(t.Context()); err != nil || got != token {
		t.Fatalf("got %q, %v, want %q", got, err, token)
	}
}

func TestSource(t *testing.T) {
	f := &fetcher{takes: 100 * time.Millisecond, lives: time.Hour}
	inTime(t, "one request serves all waiting and later callers", f, func(t *testing.T, s *token.Source) {
		var callers sync.WaitGroup
		for range 500 {
			callers.Go(func() { want(t, s, "token 1") })
		}
		callers.Wait()
		want(t, s, "token 1")
		if n := f.calls.Load(); n != 1 {
			t.Errorf("%d requests", n)
		}
	})
	g := &fetcher{takes: 100 * time.Millisecond, lives: time.Hour}
	inTime(t, "a token is renewed in the background in the last fifth of its lifetime", g, func(t *testing.T, s *token.Source) {
		want(t, s, "token 1")
		time.Sleep(47 * time.Minute)
		want(t, s, "token 1")
		synctest.Wait()
		if n := g.calls.Load(); n != 1 {
			t.Fatalf("%d requests in the first four fifths", n)
		}
		time.Sleep(2 * time.Minute)
		for range 100 {
			began := time.Now()
			want(t, s, "token 1")
			if waited := time.Since(began); waited != 0 {
				t.Fatalf("waited %s", waited)
			}
		}
		time.Sleep(time.Second)
		want(t, s, "token 2")
		if n := g.calls.Load(); n != 2 {
			t.Errorf("%d requests", n)
		}
	})
	h := &fetcher{takes: time.Second, lives: time.Hour}
	inTime(t, "the end of one caller does not end the others", h, func(t *testing.T, s *token.Source) {
		ctx, cancel := context.WithCancel(t.Context())
		first := make(chan error, 1)
		go func() { _, err := s.Token(ctx); first <- err }()
		synctest.Wait()
		second := make(chan error, 1)
		go func() { _, err := s.Token(t.Context()); second <- err }()
		synctest.Wait()
		cancel()
		if err := <-first; !errors.Is(err, context.Canceled) {
			t.Errorf("the first got %v", err)
		}
		if err := <-second; err != nil {
			t.Errorf("the second got %v", err)
		}
		if n := h.calls.Load(); n != 1 {
			t.Errorf("%d requests", n)
		}
	})
	hung := &fetcher{takes: time.Hour, lives: time.Hour}
	inTime(t, "a request that hangs is cancelled after five seconds", hung, func(t *testing.T, s *token.Source) {
		began := time.Now()
		if _, err := s.Token(t.Context()); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 5*time.Second {
			t.Fatalf("got %v after %s", err, time.Since(began))
		}
	})
}

func TestSourceFailures(t *testing.T) {
	away := errors.New("auth is unavailable")
	f := &fetcher{lives: time.Hour}
	f.fail(away)
	inTime(t, "a failure is returned for a second, then the next call retries", f, func(t *testing.T, s *token.Source) {
		for range 100 {
			if _, err := s.Token(t.Context()); !errors.Is(err, away) {
				t.Fatalf("got %v", err)
			}
		}
		if n := f.calls.Load(); n != 1 {
			t.Fatalf("%d requests within a second", n)
		}
		time.Sleep(time.Second)
		f.fail(nil)
		want(t, s, "token 2")
	})
	g := &fetcher{lives: time.Hour}
	inTime(t, "while renewing fails, the current token is used until it expires", g, func(t *testing.T, s *token.Source) {
		want(t, s, "token 1")
		g.fail(away)
		time.Sleep(50 * time.Minute)
		for range 9 * 60 {
			want(t, s, "token 1")
			time.Sleep(time.Second)
		}
		if n := g.calls.Load(); n < 100 || n > 9*60+1 {
			t.Errorf("%d requests in nine minutes", n)
		}
		time.Sleep(time.Minute)
		if _, err := s.Token(t.Context()); !errors.Is(err, away) {
			t.Fatalf("got %v", err)
		}
		g.fail(nil)
		time.Sleep(time.Second)
		if _, err := s.Token(t.Context()); err != nil {
			t.Fatalf("it does not recover: %v", err)
		}
	})
	for name, answer := range map[string]func(context.Context) (string, time.Time, error){
		"an expired token": func(context.Context) (string, time.Time, error) { return "old", time.Now(), nil },
		"an empty one":     func(context.Context) (string, time.Time, error) { return "", time.Now().Add(time.Hour), nil },
	} {
		t.Run(name+" is an error", func(t *testing.T) {
			if raw, err := token.NewSource(answer).Token(t.Context()); err == nil {
				t.Fatalf("got %q", raw)
			}
		})
	}
}

func TestSourceForgets(t *testing.T) {
	f := &fetcher{lives: time.Hour}
	inTime(t, "a rejected token is replaced", f, func(t *testing.T, s *token.Source) {
		want(t, s, "token 1")
		time.Sleep(time.Minute)
		s.Forget("another token")
		want(t, s, "token 1")
		s.Forget("token 1")
		want(t, s, "token 2")
	})
	g := &fetcher{lives: time.Hour}
	inTime(t, "a server that rejects every token does not cause a request per call", g, func(t *testing.T, s *token.Source) {
		for range 1000 {
			raw, err := s.Token(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			s.Forget(raw)
			time.Sleep(10 * time.Millisecond)
		}
		if n := g.calls.Load(); n > 11 {
			t.Errorf("%d requests in ten seconds", n)
		}
	})
}
