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

// atOnce calls do the given number of times, spread over concurrent clients.
func atOnce(b *testing.B, clients, times int, do func(client int) error) (m measured, whole time.Duration) {
	var wg sync.WaitGroup
	var left atomic.Int64
	left.Store(int64(times))
	took := make([][]time.Duration, clients)
	began := time.Now()
	for i := range clients {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				start := time.Now()
				if err := do(i); err != nil {
					b.Error(err)
					return
				}
				took[i] = append(took[i], time.Since(start))
			}
		})
	}
	wg.Wait()
	if b.Failed() {
		b.FailNow()
	}
	return measured{took: slices.Concat(took...)}, time.Since(began)
}

// during lets concurrent clients call do in loops, until the given time has passed or do was
// called often enough. It returns the number of calls and the time until the last one ended.
func during(b *testing.B, clients int, limit int64, lasting time.Duration, do func(client int) error) (calls int64, took time.Duration) {
	var wg sync.WaitGroup
	var begun, ended atomic.Int64
	began := time.Now()
	for i := range clients {
		wg.Go(func() {
			for time.Since(began) < lasting && begun.Add(1) <= limit {
				if err := do(i); err != nil {
					b.Error(err)
					return
				}
				ended.Add(1)
			}
		})
	}
	wg.Wait()
	if b.Failed() {
		b.FailNow()
	}
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
