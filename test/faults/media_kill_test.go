package faults

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/fault"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
	"reservation.dev/test/harness"
)

// TestSlowMediaDespiteKills kills the media service while files arrive, are joined, played, replaced and removed.
// Every file that a row names is in the bucket, every other object is removed, and no half file is played.
func TestSlowMediaDespiteKills(t *testing.T) {
	t.Parallel()
	c := newMediaCluster(t)
	t.Run("it is killed after each commit, and at each round trip to its database", c.testSteps)
	if !t.Failed() {
		t.Run("it is killed at random moments", c.testMoments)
	}
	c.audit(t)
}

const (
	// mediaClients is the number of concurrent clients, and mediaKills how often the service is killed at random
	// moments.
	mediaClients, mediaKills = 4, 10
	// bigFile needs two parts.
	smallFile, bigFile = 100_000, 8<<20 + 50_000
)

// mediaCluster is a cluster whose media service uses its database through a proxy.
type mediaCluster struct {
	*harness.Cluster
	op       *harness.Operator
	company  *harness.Company
	customer string
	proxy    *harness.DatabaseProxy
	db       *pgx.Conn
	kills    int
	played   atomic.Int64 // complete files

	mu    sync.Mutex
	films []*film
}

// film is an item, and the content of its file that was acknowledged.
type film struct {
	id      string
	content []byte
	link    string // to play the content
	deleted bool
}

func newMediaCluster(t *testing.T) *mediaCluster {
	t.Helper()
	c := &mediaCluster{Cluster: harness.StartCluster(t, harness.ClusterOptions{Env: map[string]string{"SHUTDOWN_DRAIN": "2s"}})}
	c.op = c.Operator(t)
	c.company = c.op.NewCompany(t, "Europe/London")
	c.customer = c.company.ImportCustomers(t, "viewer", 1)[0]
	c.proxy = harness.NewDatabaseProxy(t, c.AppURL("media"))
	media := c.Part("media")
	media.Stop(t)
	media.Set(map[string]string{"DATABASE_URL": c.proxy.URL(t, c.AppURL("media")), "MEDIA_REMOVAL_DELAY": "1s"})
	media.Restart(t)
	c.db = (&salesCluster{Cluster: c.Cluster}).connect(t, "media")
	return c
}

// movie returns the content of an MP4 file with a size.
func movie(size int) []byte {
	b := make([]byte, size)
	key := [32]byte{byte(rand.IntN(256)), byte(rand.IntN(256)), byte(rand.IntN(256)), byte(rand.IntN(256))}
	_, _ = rand.NewChaCha8(key).Read(b) // never fails
	copy(b, "\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom")
	return b
}

// persist makes a call with a new idempotency key until the outcome is known.
func (c *mediaCluster) persist(ctx context.Context, call func(ctx context.Context) error) error {
	return persist(newKey(c.company.Ctx(ctx)), call)
}

// film creates an item with a file, publishes it and gives it to the customer.
func (c *mediaCluster) film(ctx context.Context, size int) (*film, error) {
	f := &film{}
	err := c.persist(ctx, func(ctx context.Context) error {
		res, err := c.op.Media.CreateMediaItem(ctx, &mediav1.CreateMediaItemRequest{Title: "Morning Flow", Kind: mediav1.MediaKind_MEDIA_KIND_VIDEO})
		f.id = res.GetItem().GetId()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("item: %w", err)
	}
	content := movie(size)
	if err := c.upload(ctx, f.id, content); err != nil {
		return nil, err
	}
	err = c.persist(ctx, func(ctx context.Context) error {
		_, err := c.op.Media.UpdateMediaItem(ctx, &mediav1.UpdateMediaItemRequest{Id: f.id, Status: mediav1.MediaStatus_MEDIA_STATUS_PUBLISHED})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("publish: %w", err)
	}
	err = c.persist(ctx, func(ctx context.Context) error {
		_, err := c.op.Media.CreateEntitlement(ctx, &mediav1.CreateEntitlementRequest{ItemId: f.id, CustomerId: c.customer})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("entitlement: %w", err)
	}
	c.mu.Lock()
	c.films = append(c.films, f)
	c.mu.Unlock()
	return f, c.linkTo(ctx, f, content)
}

// linkTo gets a link to the file of a film, whose content is known.
func (c *mediaCluster) linkTo(ctx context.Context, f *film, content []byte) error {
	return c.persist(ctx, func(ctx context.Context) error {
		res, err := c.op.Media.CreatePlaybackLink(ctx, &mediav1.CreatePlaybackLinkRequest{ItemId: f.id, CustomerId: c.customer})
		f.link, f.content = res.GetUrl(), content
		return err
	})
}

// upload uploads the file of an item, until it is complete. Parts that are lost are sent again.
func (c *mediaCluster) upload(ctx context.Context, item string, content []byte) error {
	var u *mediav1.Upload
	err := c.persist(ctx, func(ctx context.Context) error {
		res, err := c.op.Media.CreateUpload(ctx, &mediav1.CreateUploadRequest{
			ItemId: item, FileName: "morning-flow.mp4", ContentType: "video/mp4", Size: int64(len(content)), Sha256: fmt.Sprintf("%x", sha256.Sum256(content)),
		})
		u = res.GetUpload()
		return err
	})
	if err != nil {
		return fmt.Errorf("upload: %w", err)
	}
	for n := range int(u.GetPartCount()) {
		part := content[n*int(u.GetPartSize()) : min(len(content), (n+1)*int(u.GetPartSize()))]
		if err := c.send(ctx, fmt.Sprint(u.GetPartUrl(), "/", n+1), part); err != nil {
			return err
		}
	}
	for {
		var done *mediav1.CompleteUploadResponse
		err := c.persist(ctx, func(ctx context.Context) (err error) {
			done, err = c.op.Media.CompleteUpload(ctx, &mediav1.CompleteUploadRequest{ItemId: item, UploadId: u.GetId()})
			return err
		})
		if err != nil || done.GetUpload().GetStatus() == mediav1.UploadStatus_UPLOAD_STATUS_COMPLETE {
			return err
		}
	}
}

// send sends a part until the service has it.
func (c *mediaCluster) send(ctx context.Context, url string, part []byte) error {
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodPut, url, bytes.NewReader(part))
		if err != nil {
			return err
		}
		res, err := http.DefaultClient.Do(req)
		if err == nil {
			text, _ := io.ReadAll(res.Body)
			res.Body.Close()
			switch res.StatusCode {
			case http.StatusNoContent:
				return nil
			case http.StatusServiceUnavailable:
			default:
				return fmt.Errorf("the part was answered %d: %s", res.StatusCode, text)
			}
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// play fetches a file once. It returns the status, or 0 if the answer was not complete. An answer that is
// complete must be the whole file.
func (c *mediaCluster) play(ctx context.Context, link string, content []byte) (status int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, link, nil)
	if err != nil {
		return 0, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, ctx.Err()
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	switch {
	case err != nil:
		return 0, ctx.Err()
	case res.StatusCode == http.StatusOK && !bytes.Equal(got, content):
		return 0, fmt.Errorf("%d bytes were played that are not the file, which has %d", len(got), len(content))
	case res.StatusCode == http.StatusOK:
		c.played.Add(1)
	}
	return res.StatusCode, nil
}

// playUntil fetches a file until the answer is known, and expects a status.
func (c *mediaCluster) playUntil(ctx context.Context, link string, content []byte, want int) error {
	for {
		status, err := c.play(ctx, link, content)
		if err != nil || status == want {
			return err
		}
		if status != 0 && status != http.StatusServiceUnavailable {
			return fmt.Errorf("a link was answered %d, want %d", status, want)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("a link was never answered %d: %w", want, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// replace uploads another file for a film. The link to the old one stops working.
func (c *mediaCluster) replace(ctx context.Context, f *film, size int) error {
	old, content := f.link, movie(size)
	if err := c.upload(ctx, f.id, content); err != nil {
		return err
	}
	if err := c.playUntil(ctx, old, nil, http.StatusNotFound); err != nil {
		return fmt.Errorf("the file before: %w", err)
	}
	return c.linkTo(ctx, f, content)
}

// remove deletes a film. Its link stops working.
func (c *mediaCluster) remove(ctx context.Context, f *film) error {
	lost := false
	err := c.persist(ctx, func(ctx context.Context) error {
		_, err := c.op.Media.DeleteMediaItem(ctx, &mediav1.DeleteMediaItemRequest{Id: f.id})
		if lost = lost || err != nil; lost && fault.Is(err, fault.NotFound) {
			return nil // an attempt without an answer has deleted it
		}
		return err
	})
	f.deleted = err == nil
	return errors.Join(err, c.playUntil(ctx, f.link, nil, http.StatusNotFound))
}

// useFilm creates a film, plays it, replaces its file, and sometimes deletes it.
func (c *mediaCluster) useFilm(ctx context.Context, size int, deletes bool) error {
	ctx, cancel := context.WithTimeout(ctx, 2*orderLimit)
	defer cancel()
	f, err := c.film(ctx, size)
	if err == nil {
		err = c.playUntil(ctx, f.link, f.content, http.StatusOK)
	}
	if err == nil {
		err = c.replace(ctx, f, size)
	}
	if err == nil && deletes {
		err = c.remove(ctx, f)
	}
	return err
}

// restart starts the service after it was killed. Joins and removals of the killed process continue at once.
func (c *mediaCluster) restart(t *testing.T) {
	t.Helper()
	c.release(t)
	c.Part("media").Restart(t)
	c.kills++
}

// release ends the leases of a killed process.
func (c *mediaCluster) release(t *testing.T) {
	t.Helper()
	for _, sql := range []string{
		`update uploads set leased_until = now() where status = 'completing' and leased_until > now()`,
		`update removed_objects set leased_until = now() where leased_until > now()`,
	} {
		if _, err := c.db.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
}

// testSteps kills the service at the first commit for a film, at the second one for another film, and so on, and
// then in the same way at each round trip.
func (c *mediaCluster) testSteps(t *testing.T) {
	for _, stop := range []stop{
		{unit: harness.Transactions, at: harness.BeforeAnswer}, {unit: harness.RoundTrips, at: harness.BeforeRequest},
	} {
		for n := 1; ; n++ {
			sprung := make(chan struct{})
			c.proxy.Set(t, harness.Trap{Company: c.company.ID, Unit: stop.unit, N: n, At: stop.at, Stop: func() {
				defer close(sprung)
				if err := c.Part("media").Crash(); err != nil {
					t.Error(err)
				}
			}})
			ended := make(chan error, 1)
			go func() { ended <- c.useFilm(t.Context(), smallFile, n%2 == 0) }()
			var err error
			isOver := false
			select {
			case <-sprung:
				c.restart(t)
				err = <-ended
			case err = <-ended:
				isOver = true
			}
			if err != nil {
				t.Fatalf("round trip %d, %v: %v", n, stop, err)
			}
			if isOver && !c.proxy.Disarm() {
				t.Logf("a film has %d steps", n-1)
				break
			}
		}
	}
}

// testMoments kills the service at random moments while several clients use it.
func (c *mediaCluster) testMoments(t *testing.T) {
	closing := make(chan struct{})
	var all sync.WaitGroup
	for client := range mediaClients {
		all.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-closing:
					return
				default:
				}
				if err := c.useFilm(t.Context(), []int{smallFile, bigFile}[(n+client)%2], rand.IntN(2) == 0); err != nil {
					t.Errorf("client %d: %v", client, err)
					return
				}
			}
		})
	}
	for range mediaKills {
		<-time.After(time.Duration(100+rand.IntN(700)) * time.Millisecond)
		c.Part("media").Kill(t)
		c.restart(t)
	}
	close(closing)
	all.Wait()
}
