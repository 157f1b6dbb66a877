package media

import (
	"sync"
	"testing"
	"time"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/fault"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
)

// TestCollectionsUnderConcurrency moves items in and out of collections while one is deleted.
func TestCollectionsUnderConcurrency(t *testing.T) { // invariants 8 and 11
	w := start(t)
	gone, stays := w.collection(), w.collection()
	var items []string
	for range 6 {
		items = append(items, w.item(video, gone.GetId()).GetId())
	}
	set := func(item string, collections ...string) {
		_, err := w.client.UpdateMediaItem(w.ctx(), &mediav1.UpdateMediaItemRequest{Id: item, CollectionIds: &mediav1.CollectionIds{Values: collections}})
		if err != nil && !fault.Is(err, fault.NotFound) {
			t.Error(err)
		}
	}
	var all sync.WaitGroup
	for n, item := range items {
		all.Go(func() {
			for step := range 6 {
				if (n+step)%2 == 0 {
					set(item, stays.GetId())
				} else {
					set(item, gone.GetId(), stays.GetId())
				}
			}
		})
	}
	all.Go(func() {
		testkit.Eventually(t, 2*time.Minute, func() error {
			_, err := w.client.DeleteCollection(w.ctx(), &mediav1.DeleteCollectionRequest{Id: gone.GetId()})
			if err != nil && !fault.Is(err, fault.Unavailable) { // items are added during each attempt
				t.Error(err)
				return nil
			}
			return err
		})
	})
	all.Wait()
	for _, item := range items {
		got := w.get(item)
		if len(got.GetCollectionIds()) != 1 || got.GetCollectionIds()[0] != stays.GetId() {
			t.Errorf("%s is in %v", item, got.GetCollectionIds())
		}
		// Each version has one event.
		n := w.count(`select count(*) from outbox_events where position(convert_to($1, 'UTF8') in payload) > 0`, item)
		if n != got.GetVersion() {
			t.Errorf("version %d has %d events", got.GetVersion(), n)
		}
	}
	w.verify()
}

// TestDeletionUnderConcurrency deletes an item while customers record progress and parts arrive.
func TestDeletionUnderConcurrency(t *testing.T) { // invariant 8
	w := start(t)
	content := mp4(3000)
	i := w.video(content)
	var all sync.WaitGroup
	for range 6 {
		customer := w.others.customer()
		w.entitle(&mediav1.CreateEntitlementRequest{ItemId: i.GetId(), CustomerId: customer})
		all.Go(func() {
			for n := range 6 {
				// The item is deleted with its entitlements, and either can be read first.
				if _, err := w.record(i.GetId(), customer, int32(n), false); err != nil && !fault.Is(err, fault.NotFound) && reason(err) != ReasonNotEntitled {
					t.Error(err)
				}
			}
		})
		all.Go(func() {
			res, err := w.client.CreateUpload(w.ctx(), &mediav1.CreateUploadRequest{
				ItemId: i.GetId(), FileName: "a.mp4", ContentType: "video/mp4", Size: int64(len(content)),
			})
			if err != nil {
				if !fault.Is(err, fault.NotFound) {
					t.Error(err)
				}
				return
			}
			u := res.GetUpload()
			w.put(u.GetPartUrl()+"/1", content)
			if _, err := w.complete(u); err != nil && !fault.Is(err, fault.NotFound) && reason(err) != ReasonUploadIncomplete {
				t.Error(err)
			}
		})
	}
	all.Go(func() {
		must[*mediav1.DeleteMediaItemResponse](t)(w.client.DeleteMediaItem(w.ctx(), &mediav1.DeleteMediaItemRequest{Id: i.GetId()}))
	})
	all.Wait()
	w.stopJoins()
	for _, table := range []string{"media_items", "media_files", "uploads", "upload_parts", "progress"} {
		if n := w.count(`select count(*) from ` + table); n != 0 {
			t.Errorf("%s has %d rows", table, n)
		}
	}
	w.clock.move(2 * w.settings.RemovalDelay)
	if err := w.server.removeOnce(t.Context()); err != nil || len(w.objects()) != 0 {
		t.Errorf("the bucket has %v, %v", w.objects(), err)
	}
	w.verify()
}
