package media

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/subjects"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
)

var update = flag.Bool("update", false, "write the golden events")

func TestGoldenEvents(t *testing.T) { // invariant 11
	w := start(t)
	w.stopJoins() // they read the clock
	w.clock.fixed = time.Date(2026, 1, 31, 9, 30, 0, 0, time.UTC)
	next := byte(0)
	w.server.newID = func() id.UUID {
		next++
		return id.UUID{0x01, 0x9c, 15: next}
	}
	content := mp4(2000)
	customer := id.Customer{0x01, 0x9c, 15: 0xcc}.String()
	w.others.set(func() { w.others.customers[customer] = false })
	i := w.item(video, w.collection().GetId())
	u := w.newUpload(i.GetId(), content)
	w.putAll(u, content)
	w.beginJoin(u)
	c, _ := w.claim(w.server)
	if err := w.server.joinParts(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	w.setStatus(i.GetId(), mediav1.MediaStatus_MEDIA_STATUS_PUBLISHED)
	e := w.entitle(&mediav1.CreateEntitlementRequest{ItemId: i.GetId(), CustomerId: customer, LastDay: "2026-02-28"})
	if _, err := w.record(i.GetId(), customer, 1800, true); err != nil {
		t.Fatal(err)
	}
	must[*mediav1.DeleteEntitlementResponse](t)(w.client.DeleteEntitlement(w.ctx(), &mediav1.DeleteEntitlementRequest{Id: e.GetId()}))
	must[*mediav1.DeleteMediaItemResponse](t)(w.client.DeleteMediaItem(w.ctx(), &mediav1.DeleteMediaItemRequest{Id: i.GetId()}))
	payloads := map[string]proto.Message{
		subjects.MediaItemCreated: &mediav1.MediaItemCreated{}, subjects.MediaItemUpdated: &mediav1.MediaItemUpdated{},
		subjects.MediaItemDeleted: &mediav1.MediaItemDeleted{}, subjects.MediaEntitlementCreated: &mediav1.MediaEntitlementCreated{},
		subjects.MediaEntitlementDeleted: &mediav1.MediaEntitlementDeleted{}, subjects.MediaCompleted: &mediav1.MediaCompleted{},
	}
	found := 0
	err := w.db.Read(t.Context(), pg.AllCompanies(), pg.Query{SQL: `select subject, payload from outbox order by payload`, Scan: pg.Each(func(rows pgx.Rows) error {
		var subject string
		var payload []byte
		if err := rows.Scan(&subject, &payload); err != nil {
			return err
		}
		if subject == "media.v1.change_recorded" {
			return nil // for the audit log
		}
		if payloads[subject] == nil {
			return errors.New("unexpected event " + subject)
		}
		found++
		one := payloads[subject].ProtoReflect().New().Interface()
		if err := proto.Unmarshal(payload, one); err != nil {
			return err
		}
		if u, ok := one.(*mediav1.MediaItemUpdated); !ok || u.GetItem().GetStatus() == mediav1.MediaStatus_MEDIA_STATUS_PUBLISHED {
			payloads[subject] = one
		}
		return nil
	})})
	if err != nil || found != 7 { // two updates
		t.Fatalf("found %d events, %v", found, err)
	}
	for subject, payload := range payloads {
		file := filepath.Join("testdata", strings.TrimPrefix(subject, "media.v1.")+".json")
		if *update {
			if err := os.WriteFile(file, []byte(protojson.MarshalOptions{Multiline: true}.Format(payload)+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want := payload.ProtoReflect().New().Interface()
		if err := protojson.Unmarshal(text, want); err != nil || !proto.Equal(payload, want) {
			t.Errorf("%s: got %v, the golden file has %v (%v)", subject, payload, want, err)
		}
	}
}
