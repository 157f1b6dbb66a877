package load

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// concurrently runs a function for each client, and fails b with the first error. The clients
// should end when failed returns true.
func concurrently(b *testing.B, clients int, run func(client int, failed func() bool) error) {
	b.Helper()
	var wg sync.WaitGroup
	var first atomic.Pointer[error]
	failed := func() bool { return first.Load() != nil }
	for i := range clients {
		wg.Go(func() {
			if err := run(i, failed); err != nil {
				first.CompareAndSwap(nil, &err)
			}
		})
	}
	wg.Wait()
	if err := first.Load(); err != nil {
		b.Fatal(*err)
	}
}

// atOnce calls do the given number of times, spread over concurrent clients. It returns how long
// each call and all of them took.
func atOnce(b *testing.B, clients, times int, do func(client int) error) (took []time.Duration, whole time.Duration) {
	b.Helper()
	var left atomic.Int64
	left.Store(int64(times))
	each := make([][]time.Duration, clients)
	began := time.Now()
	concurrently(b, clients, func(client int, failed func() bool) error {
		for left.Add(-1) >= 0 && !failed() {
			start := time.Now()
			if err := do(client); err != nil {
				return err
			}
			each[client] = append(each[client], time.Since(start))
		}
		return nil
	})
	return slices.Concat(each...), time.Since(began)
}

// during lets concurrent clients call do in loops, until the given time has passed or do was
// called often enough. It returns the number of calls and the time until the last one ended.
func during(b *testing.B, clients int, limit int64, lasting time.Duration, do func(client int) error) (calls int64, took time.Duration) {
	b.Helper()
	var begun, ended atomic.Int64
	began := time.Now()
	concurrently(b, clients, func(client int, failed func() bool) error {
		for time.Since(began) < lasting && begun.Add(1) <= limit && !failed() {
			if err := do(client); err != nil {
				return err
			}
			ended.Add(1)
		}
		return nil
	})
	return ended.Load(), time.Since(began)
}

// get makes a request, returns an error unless the answer is 200, and returns the length of its
// body.
func get(ctx context.Context, transport *http.Transport, url, token string) (int64, error) {
	req, err := request(ctx, url, token)
	if err != nil {
		return 0, err
	}
	res, err := transport.RoundTrip(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	n, err := io.Copy(io.Discard, res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = &unexpected{url: url, res: res}
	}
	return n, err
}

func request(ctx context.Context, url, token string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	return req, nil
}

// post makes a request, with an Idempotency-Key unless key is empty, and returns an error unless
// the answer is 201.
func post(ctx context.Context, transport *http.Transport, url, token, key, body string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	res, err := transport.RoundTrip(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusCreated {
		err = &unexpected{url: url, res: res, body: answer}
	}
	return err
}

// unexpected is an answer with another status than the one that the caller wants.
type unexpected struct {
	url  string
	res  *http.Response
	body []byte
}

func (e *unexpected) Error() string {
	return fmt.Sprintf("%s answered %s: %s", e.url, e.res.Status, e.body)
}
