package media

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/tenancy"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
)

// begun returns an upload with all its parts, whose completion was requested while no process joins parts.
func (w *world) begun(content []byte) *mediav1.Upload {
	w.t.Helper()
	w.stopJoins()
	u := w.newUpload(w.item(video).GetId(), content)
	w.putAll(u, content)
	w.beginJoin(u)
	return u
}

// beginJoin requests the completion of an upload, and does not wait for it.
func (w *world) beginJoin(u *mediav1.Upload) {
	w.t.Helper()
	req := &mediav1.CompleteUploadRequest{ItemId: u.GetItemId(), UploadId: u.GetId()}
	_, err := w.server.beginJoinOnce(w.t.Context(), w.company, mustID[id.MediaItem](w.t, u.GetItemId()), mustID[id.Upload](w.t, u.GetId()), req, nil)
	if err != nil {
		w.t.Fatal(err)
	}
}

// claim claims the next join, as the process of s does.
func (w *world) claim(s *Server) (join, bool) {
	w.t.Helper()
	now := w.clock.now()
	c, found, err := s.store.claimJoin(w.t.Context(), join{lease: s.newID(), object: s.newID()}, now, now.Add(joinLease), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return c, found
}

func TestInterruptedJoin(t *testing.T) { // invariant 2
	w := start(t)
	content := mp4(2*partSize + 5000)
	u := w.begun(content)
	first, found := w.claim(w.server)
	if !found {
		t.Fatal("nothing to join")
	}
	// The process is killed after the object was stored and before the commit.
	item := mustID[id.MediaItem](t, u.GetItemId())
	o, err := w.server.bucket.create(t.Context(), objectKey(w.company, item, first.object), "video/mp4")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.Write(content[:1000]); err != nil {
		t.Fatal(err)
	}
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	other := w.newServer()
	if _, found := w.claim(other); found {
		t.Error("another process joins the parts during the lease")
	}
	w.clock.move(joinLease + time.Second)
	second, found := w.claim(other)
	if !found {
		t.Fatal("nobody continues after the lease")
	}
	if err := w.server.joinParts(t.Context(), first); !errors.Is(err, errLeaseLost) {
		t.Errorf("the first process ended with %v", err)
	}
	if err := other.joinParts(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	if got := w.get(u.GetItemId()); got.GetFile().GetSha256() != digest(content) || got.GetVersion() != 2 {
		t.Errorf("got %v", got)
	}
	if err := w.server.removeOnce(t.Context()); err != nil || len(w.objects()) != 1 {
		t.Errorf("the bucket has %v, %v", w.objects(), err)
	}
	w.verify()
}

func TestJoinAtShutdown(t *testing.T) { // invariant 2
	w := start(t)
	content := mp4(partSize + 100)
	u := w.begun(content)
	stopped, stop := context.WithCancel(t.Context())
	c, _ := w.claim(w.server)
	stop()
	w.server.joins.run(stopped, c)
	w.startJoins() // the next process, at once: the lease was released
	if got := w.eventuallyComplete(u); got.GetFile().GetSha256() != digest(content) {
		t.Errorf("got %v", got)
	}
}

func TestDamagedPart(t *testing.T) { // invariant 2
	w := start(t)
	content := mp4(2*partSize + 100)
	u := w.newUpload(w.item(video).GetId(), content)
	w.putAll(u, content)
	parts, err := w.server.store.parts(t.Context(), w.company, mustID[id.Upload](t, u.GetId()))
	if err != nil {
		t.Fatal(err)
	}
	item := mustID[id.MediaItem](t, u.GetItemId())
	file := func(n int) string { return filepath.Join(w.dir, objectKey(w.company, item, parts[n].Object)) }
	if err := errors.Join(os.Remove(file(0)), os.WriteFile(file(2), make([]byte, 100), 0o600)); err != nil {
		t.Fatal(err)
	}
	_, err = w.complete(u)
	wantReason(t, err, ReasonUploadIncomplete)
	if got := fault.From(err).Meta["missing_parts"]; got != "1,3" {
		t.Errorf("missing parts %q", got)
	}
	w.putAll(u, content)
	if got := w.eventuallyComplete(u); got.GetFile().GetSha256() != digest(content) {
		t.Errorf("got %v", got)
	}
	w.verify()
}

func TestCancelDuringJoin(t *testing.T) {
	w := start(t)
	u := w.begun(mp4(5000))
	c, _ := w.claim(w.server)
	must[*mediav1.CancelUploadResponse](t)(w.client.CancelUpload(w.ctx(), &mediav1.CancelUploadRequest{ItemId: u.GetItemId(), UploadId: u.GetId()}))
	if err := w.server.removeOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.server.joinParts(t.Context(), c); !errors.Is(err, errLeaseLost) {
		t.Errorf("got %v", err)
	}
	if got := w.get(u.GetItemId()); got.GetFile() != nil || len(w.objects()) != 0 {
		t.Errorf("got %v, and the bucket has %v", got, w.objects())
	}
}

func TestDeletedItem(t *testing.T) { // invariant 8
	w := start(t)
	content := mp4(5000)
	c, customer := w.collection(), w.others.customer()
	i := w.video(content, c.GetId())
	w.entitle(&mediav1.CreateEntitlementRequest{ItemId: i.GetId(), CustomerId: customer})
	must[*mediav1.RecordProgressResponse](t)(w.client.RecordProgress(w.ctx(), &mediav1.RecordProgressRequest{ItemId: i.GetId(), CustomerId: customer}))
	w.putAll(w.newUpload(i.GetId(), content), content)
	_, err := w.client.DeleteMediaItem(w.ctx(), &mediav1.DeleteMediaItemRequest{Id: i.GetId(), ExpectedVersion: new(int64(1))})
	wantReason(t, err, fault.ReasonVersionMismatch)
	must[*mediav1.DeleteMediaItemResponse](t)(w.client.DeleteMediaItem(w.ctx(), &mediav1.DeleteMediaItemRequest{Id: i.GetId()}))
	_, err = w.client.GetMediaItem(w.ctx(), &mediav1.GetMediaItemRequest{Id: i.GetId()})
	wantMissing(t, err)
	for _, table := range []string{"media_items", "media_files", "uploads", "upload_parts", "entitlements", "progress", "collection_items"} {
		if n := w.count(`select count(*) from ` + table); n != 0 {
			t.Errorf("%s has %d rows", table, n)
		}
	}
	if err := w.server.removeOnce(t.Context()); err != nil || len(w.objects()) != 1 {
		t.Errorf("at once: %v, %v", w.objects(), err)
	}
	if n := testutil.ToFloat64(w.server.metrics.overdue); n != 0 {
		t.Errorf("%v removals are overdue", n)
	}
	w.clock.move(w.settings.RemovalDelay + time.Minute)
	if err := w.server.removeOnce(t.Context()); err != nil || len(w.objects()) != 0 || w.count(`select count(*) from removed_objects`) != 0 {
		t.Errorf("after the delay: %v, %v", w.objects(), err)
	}
	w.verify()
}

func TestRestoredDatabase(t *testing.T) { // invariant 2
	w := start(t)
	i := w.video(mp4(5000))
	if err := w.server.removeOnce(t.Context()); err != nil { // its part
		t.Fatal(err)
	}
	key := w.objects()[0]
	company, object, _ := parseKey(key)
	c := candidates{}
	c.add(candidate{key, company, object})
	if err := w.server.store.addRemovals(t.Context(), c, w.clock.now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	gone := make([]string, atOnce) // more than one batch
	for n := range gone {
		gone[n] = w.orphan(w.company)
		_, object, _ := parseKey(gone[n])
		due := candidates{}
		due.add(candidate{gone[n], company, object})
		if err := w.server.store.addRemovals(t.Context(), due, w.clock.now().Add(-time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.server.removeOnce(t.Context()); err != nil || !slices.Equal(w.objects(), []string{key}) || w.count(`select count(*) from removed_objects`) != 0 {
		t.Errorf("the file of %s was removed, or another one was not: %v", i.GetId(), err)
	}
}

func TestBrokenRemoval(t *testing.T) {
	w := start(t)
	i := w.video(mp4(5000))
	must[*mediav1.DeleteMediaItemResponse](t)(w.client.DeleteMediaItem(w.ctx(), &mediav1.DeleteMediaItemRequest{Id: i.GetId()}))
	key := w.objects()
	file := ""
	for _, k := range key {
		if _, object, _ := parseKey(k); w.count(`select count(*) from removed_objects where object_id = $1 and due_at > now() + interval '1 hour'`, object) == 1 {
			file = filepath.Join(w.dir, k)
		}
	}
	// A directory that is not empty cannot be removed.
	if err := errors.Join(os.Remove(file), os.MkdirAll(filepath.Join(file, "x"), 0o700)); err != nil {
		t.Fatal(err)
	}
	w.clock.move(w.settings.RemovalDelay + 2*time.Hour)
	if err := w.server.removeOnce(t.Context()); err == nil {
		t.Error("a removal that failed is not reported")
	}
	if n := testutil.ToFloat64(w.server.metrics.overdue); n != 1 {
		t.Errorf("%v removals are overdue", n)
	}
	if err := os.RemoveAll(file); err != nil {
		t.Fatal(err)
	}
	w.clock.move(removalLease + time.Second)
	if err := w.server.removeOnce(t.Context()); err != nil || testutil.ToFloat64(w.server.metrics.overdue) != 0 {
		t.Errorf("got %v", err)
	}
}

// orphan stores an object that no row names, and returns its name.
func (w *world) orphan(company id.Company) string {
	w.t.Helper()
	key := objectKey(company, id.New[id.MediaItem](), id.NewUUID())
	if err := w.server.bucket.WriteAll(w.t.Context(), key, []byte("x"), nil); err != nil {
		w.t.Fatal(err)
	}
	return key
}

func TestSweep(t *testing.T) { // invariant 2
	w := start(t)
	i := w.video(mp4(5000))
	open := w.newUpload(w.item(video).GetId(), mp4(1000))
	w.putAll(open, mp4(1000))
	if err := w.server.removeOnce(t.Context()); err != nil { // the part of the video
		t.Fatal(err)
	}
	named := w.objects()
	orphan := w.orphan(w.company)
	for range sweepObjects + 1 { // of another installation
		named = append(named, w.orphan(id.New[id.Company]()))
	}
	foreign := []string{"probe", "backup/of/something.txt", "a/b/c"}
	for _, key := range foreign {
		if err := w.server.bucket.WriteAll(t.Context(), key, []byte("x"), nil); err != nil {
			t.Fatal(err)
		}
	}
	leftover := filepath.Join(w.dir, objectKey(w.company, mustID[id.MediaItem](t, i.GetId()), id.NewUUID())+".18a.tmp")
	if err := os.WriteFile(leftover, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	sweep := func() {
		t.Helper()
		if err := errors.Join(w.server.sweepOnce(t.Context()), w.server.removeOnce(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	sweep()
	if n := w.count(`select count(*) from removed_objects`); n != 0 {
		t.Errorf("%d young objects are to be removed", n)
	}
	w.clock.move(orphanAge + time.Minute)
	sweep()
	if n := testutil.ToFloat64(w.server.metrics.unnamed); n != 2 {
		t.Errorf("%v objects have no row", n)
	}
	if !slices.Contains(w.objects(), orphan) {
		t.Error("an orphan was removed before the delay")
	}
	sweep()
	w.clock.move(w.settings.RemovalDelay + time.Minute)
	sweep()
	want := slices.Sorted(slices.Values(slices.Concat(named, foreign)))
	if got := slices.Sorted(slices.Values(w.objects())); !slices.Equal(got, want) {
		t.Errorf("the bucket has %v, want %v", got, want)
	}
	w.verify()
}

func TestSweepStops(t *testing.T) {
	w := start(t)
	w.setClock(0) // the database has the company
	for range sweepObjects {
		w.orphan(w.company)
	}
	w.clock.move(orphanAge + time.Minute)
	if err := w.server.sweepOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := w.count(`select count(*) from removed_objects`); n != sweepObjects {
		t.Errorf("%d of %d are to be removed", n, sweepObjects)
	}
	for range sweepObjects + 1 {
		w.orphan(w.company)
	}
	w.clock.move(orphanAge + time.Minute)
	if err := w.server.sweepOnce(t.Context()); !errors.Is(err, errTooManyUnnamed) || testutil.ToFloat64(w.server.metrics.stopped) != 1 {
		t.Errorf("got %v", err)
	}
	if n := w.count(`select count(*) from removed_objects`); n != sweepObjects {
		t.Errorf("%d are to be removed after the sweep has stopped", n)
	}
}

func TestDeletedTestData(t *testing.T) {
	live := start(t)
	test := live.of(live.company.Test())
	content := mp4(2000)
	kept := live.video(content)
	test.video(content)
	test.putAll(test.newUpload(test.item(video).GetId(), content), content)
	_, err := live.testData.DeleteTestData(live.with("test-mode:write"), &authv1.DeleteTestDataRequest{})
	if err == nil {
		t.Fatal("the data of a company in live mode were deleted")
	}
	if _, err := NewTestData(tenancy.NewTestData(test.db, "removed_objects"), test.server).DeleteTestData(test.ctx(), &authv1.DeleteTestDataRequest{}); err != nil {
		t.Fatal(err)
	}
	res := must[*mediav1.ListMediaItemsResponse](t)(test.client.ListMediaItems(test.ctx(), &mediav1.ListMediaItemsRequest{}))
	if res.GetTotal() != 0 {
		t.Errorf("got %v", res)
	}
	live.clock.move(testFilesKept + time.Minute)
	if err := live.server.removeOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, key := range live.objects() {
		if strings.HasPrefix(key, objectPrefix(test.company)) {
			t.Errorf("%s is left", key)
		}
	}
	if got := live.get(kept.GetId()); got.GetFile() == nil {
		t.Errorf("got %v", got)
	}
	test.video(content)
	live.verify()
	test.verify()
}

func TestJoinLimits(t *testing.T) { // invariant 13
	w := start(t)
	content := mp4(2000)
	for range companyJoins + 1 {
		w.begun(content)
	}
	other := w.of(id.New[id.Company]())
	theirs := other.begun(content)
	var taken []func()
	for range companyJoins {
		taken = append(taken, w.server.joins.slots.take(w.company))
	}
	w.startJoins()
	other.eventuallyComplete(theirs)
	if n := w.count(`select count(*) from uploads where status = 'completing'`); n != companyJoins+1 {
		t.Errorf("%d uploads wait", n)
	}
	for _, release := range taken {
		release()
	}
	w.server.joins.wake()
	testkit.Eventually(t, 2*time.Minute, func() error {
		if n := w.count(`select count(*) from uploads where status = 'completing'`); n != 0 {
			return fmt.Errorf("%d uploads wait", n)
		}
		return nil
	})
}

func TestReadiness(t *testing.T) {
	w := start(t)
	if err := w.server.ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	broken := w.newServer()
	if err := os.RemoveAll(w.dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(w.dir, nil, 0o600); err != nil { // a file in place of the directory
		t.Fatal(err)
	}
	if err := broken.ready(t.Context()); err == nil {
		t.Error("ready without a bucket")
	}
}
