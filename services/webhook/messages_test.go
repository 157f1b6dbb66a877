package webhook

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/bus"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/privacy"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
	"reservation.dev/services/webhook/message"
)

// messagesAfter reads all messages after a token, and returns their identifiers and the last token.
func (w *world) messagesAfter(req *webhookv1.ListMessagesRequest) (ids []string, token string) {
	w.t.Helper()
	for {
		res, err := w.client.ListMessages(w.as(w.company), req)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, m := range res.GetMessages() {
			ids = append(ids, m.GetId())
		}
		req.PageToken = res.GetNextPageToken()
		if !res.GetHasMore() {
			return ids, req.GetPageToken()
		}
	}
}

func messageIDs(events ...bus.Message) []string {
	ids := make([]string, len(events))
	for i, e := range events {
		ids[i] = id.WebhookMessage(e.ID).String()
	}
	return ids
}

func wantIDs(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestMessages(t *testing.T) { // invariant 12
	t.Parallel()
	w := open(t, quick())
	earlier := time.Now().Add(-time.Second)
	bookings := []bus.Message{classBooking(w.company), classBooking(w.company), classBooking(w.company)}
	w.consume(bookings...)
	customer := newCustomer(w.company)
	w.consume(customer)
	w.consume(customer, classBooking(id.New[id.Company]())) // repeated, and of another company
	all := append(messageIDs(bookings...), messageIDs(customer)...)
	t.Run("messages are listed without any endpoint, each once and as they would be sent", func(t *testing.T) {
		res, err := w.client.ListMessages(w.as(w.company), &webhookv1.ListMessagesRequest{})
		if err != nil || len(res.GetMessages()) != len(all) || res.GetHasMore() {
			t.Fatalf("%v %v", res, err)
		}
		made, err := w.intake.messages(t.Context(), []bus.Message{customer})
		if err != nil {
			t.Fatal(err)
		}
		got := res.GetMessages()[3]
		if got.GetId() != all[3] || got.GetEvent() != webhookv1.EventType_EVENT_TYPE_CUSTOMER_CREATED || string(got.GetBody()) != string(made[0].JSON) ||
			!got.GetOccurredAt().AsTime().Equal(pg.Instant(customer.OccurredAt)) {
			t.Errorf("got %v", got)
		}
	})
	t.Run("pages follow each other, and a token finds what appears later", func(t *testing.T) {
		got, token := w.messagesAfter(&webhookv1.ListMessagesRequest{PageSize: 3})
		wantIDs(t, got, all)
		if got, again := w.messagesAfter(&webhookv1.ListMessagesRequest{PageToken: token}); len(got) != 0 || again != token {
			t.Errorf("%v %s", got, again)
		}
		late := classBooking(w.company)
		late.OccurredAt = earlier.Add(-time.Hour) // an event that was delayed has a later position nevertheless
		w.consume(late)
		got, _ = w.messagesAfter(&webhookv1.ListMessagesRequest{PageToken: token})
		wantIDs(t, got, messageIDs(late))
	})
	t.Run("they are filtered by event and by time", func(t *testing.T) {
		created := webhookv1.EventType_EVENT_TYPE_CUSTOMER_CREATED
		got, _ := w.messagesAfter(&webhookv1.ListMessagesRequest{Event: created})
		wantIDs(t, got, all[3:])
		got, _ = w.messagesAfter(&webhookv1.ListMessagesRequest{Since: timestamppb.New(earlier)})
		wantIDs(t, got, all)
		got, token := w.messagesAfter(&webhookv1.ListMessagesRequest{Since: timestamppb.New(time.Now().Add(time.Minute))})
		wantIDs(t, got, nil)
		if token == "" {
			t.Error("an empty page has no token")
		}
	})
	t.Run("another company sees none of them (10)", func(t *testing.T) {
		_, token := w.messagesAfter(&webhookv1.ListMessagesRequest{PageSize: 1})
		for _, token := range []string{"", token} {
			res, err := w.client.ListMessages(w.as(id.New[id.Company]()), &webhookv1.ListMessagesRequest{PageToken: token})
			if err != nil || len(res.GetMessages()) != 0 {
				t.Errorf("%v %v", res, err)
			}
		}
	})
	t.Run("test deliveries are not listed", func(t *testing.T) {
		before, _ := w.messagesAfter(&webhookv1.ListMessagesRequest{})
		e := w.endpoint(newReceiver(t, nil).URL).GetEndpoint().GetId()
		if _, err := w.client.SendTest(w.as(w.company), &webhookv1.SendTestRequest{EndpointId: e, Event: passPurchase}); err != nil {
			t.Fatal(err)
		}
		after, _ := w.messagesAfter(&webhookv1.ListMessagesRequest{})
		wantIDs(t, after, before)
	})
	t.Run("bad filters and tokens are refused", func(t *testing.T) {
		for name, req := range map[string]*webhookv1.ListMessagesRequest{
			"event": {Event: 999}, "since": {Since: &timestamppb.Timestamp{Seconds: -1}}, "page_size": {PageSize: 201}, "page_token": {PageToken: "x"},
		} {
			if _, err := w.client.ListMessages(w.as(w.company), req); !fault.Is(err, fault.Invalid) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// previousQueue stores a message as the previous release does, without committing it.
func previousQueue(ctx context.Context, tx *pg.Tx, e bus.Message) error {
	_, err := tx.Exec(ctx, `insert into messages (company_id, id, event, occurred_at, body) values ($1, $2, 'registration.created', $3, '{}')`,
		e.Company, e.ID, e.OccurredAt)
	return err
}

func TestMessagesBecomeVisibleInTheirOrder(t *testing.T) { // invariant 12
	t.Parallel()
	w := open(t, quick())
	first, second := classBooking(w.company), classBooking(w.company)
	done := make(chan error, 1)
	err := w.db.InTx(t.Context(), pg.For(w.company), func(ctx context.Context, tx *pg.Tx) error {
		if err := previousQueue(ctx, tx, first); err != nil {
			return err
		}
		var limit string
		if err := tx.QueryRow(ctx, `select current_setting('idle_in_transaction_session_timeout')`).Scan(&limit); err != nil || limit != "5s" {
			t.Errorf("a process that is stopped now delays the others for %s, %v", limit, err)
		}
		go func() { done <- w.intake.handle(context.Background(), []bus.Message{second}) }()
		waitFor(t, func() error {
			if _, err := tx.Exec(ctx, `select`); err != nil { // so that this one is not idle for too long
				t.Fatal(err)
			}
			if n := w.rows(`select count(*) from pg_locks join pg_database d on d.oid = database
				where datname = current_database() and locktype = 'advisory' and not granted`); n == 0 {
				return errors.New("the second transaction does not wait")
			}
			return nil
		})
		if got, _ := w.messagesAfter(&webhookv1.ListMessagesRequest{}); len(got) != 0 {
			t.Errorf("%v is visible before the first message", got)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	got, _ := w.messagesAfter(&webhookv1.ListMessagesRequest{})
	wantIDs(t, got, messageIDs(first, second))
}

func TestPositionsFollowTheBatch(t *testing.T) { // invariant 12
	t.Parallel()
	w := open(t, quick())
	now := time.Now()
	msgs := make([]message.Message, 50)
	for i := range msgs {
		msgs[i] = message.Message{Company: w.company, ID: id.New[id.WebhookMessage](), Event: "event.created", OccurredAt: now, JSON: []byte(`{}`)}
	}
	slices.Reverse(msgs) // a merge join returns them by identifier
	err := w.db.InTx(t.Context(), pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		for _, join := range []string{"hashjoin", "nestloop"} {
			if _, err := tx.Exec(ctx, "set local enable_"+join+" = off"); err != nil {
				return err
			}
		}
		_, err := queueInTx(ctx, tx, msgs, room{}, id.UUID{}, now, now)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := newStore(w.db, nil).messagesAfter(t.Context(), w.company, messageFilter{}, 0, len(msgs))
	if err != nil || len(got) != len(msgs) {
		t.Fatalf("%d messages, %v", len(got), err)
	}
	for i, m := range got {
		if m.ID != msgs[i].ID {
			t.Fatalf("message %d of the batch is number %d of the list", slices.IndexFunc(msgs, func(o message.Message) bool { return o.ID == m.ID }), i)
		}
	}
}

func TestAReaderThatKeepsItsTokenMissesNoMessage(t *testing.T) { // invariant 12
	t.Parallel()
	w := open(t, quick())
	const writers, each = 8, 25
	intakes := []*Intake{w.intake, NewIntake(w.newEngine(), otherServices{})} // two processes
	var writing sync.WaitGroup
	for i := range writers {
		writing.Go(func() {
			for range each {
				if err := intakes[i%2].handle(context.Background(), []bus.Message{classBooking(w.company), newCustomer(w.company)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	written := make(chan struct{})
	go func() { writing.Wait(); close(written) }()
	var seen []string
	token, ended := "", false
	for !ended {
		select {
		case <-written:
			ended = true // one more round reads the rest
		default:
		}
		var got []string
		got, token = w.messagesAfter(&webhookv1.ListMessagesRequest{PageToken: token, PageSize: 7})
		seen = append(seen, got...)
	}
	all, _ := w.messagesAfter(&webhookv1.ListMessagesRequest{PageSize: 200})
	if len(all) != 2*writers*each {
		t.Errorf("%d messages, want %d", len(all), 2*writers*each)
	}
	wantIDs(t, seen, all)
}

func TestPositionsContinueAfterARestore(t *testing.T) { // invariant 12
	t.Parallel()
	w := open(t, quick())
	before := classBooking(w.company)
	w.consume(before)
	_, token := w.messagesAfter(&webhookv1.ListMessagesRequest{})
	w.asOwner(`select setval('message_positions', 1)`) // the sequence of a backup from before
	after := classBooking(w.company)
	w.consume(after)
	got, _ := w.messagesAfter(&webhookv1.ListMessagesRequest{PageToken: token})
	wantIDs(t, got, messageIDs(after))
}

// asOwner runs a statement as the owner of the tables.
func (w *world) asOwner(sql string) {
	w.t.Helper()
	conn, err := pgx.Connect(w.t.Context(), w.ownerURL)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(w.t.Context(), sql); err != nil {
		w.t.Fatal(err)
	}
}

// TestAPageReadsOnlyItsRows counts the index entries that the statement reads for a page in the middle
// of many messages.
func TestAPageReadsOnlyItsRows(t *testing.T) {
	t.Parallel()
	w := openStopped(t, quick())
	w.asOwner(fmt.Sprintf(`insert into messages (company_id, id, event, occurred_at, body)
		select '%x'::uuid, overlay(gen_random_uuid()::text placing left(first_uuid_at(now())::text, 13) from 1)::uuid,
			case when n %% 1000 = 0 then 'hold.expired' else 'customer.updated' end, now(), '{}'
		from generate_series(1, 20000) n`, [16]byte(w.company)))
	w.asOwner(`analyze messages`)
	middle := w.rows(`select position from messages order by position offset 10000 limit 1`)
	for _, event := range []string{"", "hold.expired"} {
		f := messageFilter{event: event}
		list, err := w.engine.store.messagesAfter(t.Context(), w.company, f, middle, 5)
		if err != nil || len(list) != 5 {
			t.Fatalf("%d messages, %v", len(list), err)
		}
		sql := f.statement(w.company, middle, 5)
		if read := w.entriesRead(sql); read > 20 {
			t.Errorf("event %q: %d entries are read for 5 messages", event, read)
		}
	}
}

// entriesRead returns how many rows the scans of a statement return or discard.
func (w *world) entriesRead(s pg.Statement) (n int) {
	w.t.Helper()
	var plans []struct{ Plan planNode }
	err := w.db.InTx(w.t.Context(), pg.For(w.company), func(ctx context.Context, tx *pg.Tx) error {
		return tx.QueryRow(ctx, "explain (analyze, format json) "+s.SQL, s.Args...).Scan(&plans)
	})
	if err != nil {
		w.t.Fatal(err)
	}
	var walk func(planNode)
	walk = func(p planNode) {
		if len(p.Plans) == 0 {
			n += int(p.Loops * (p.Rows + p.Removed))
		}
		for _, child := range p.Plans {
			walk(child)
		}
	}
	walk(plans[0].Plan)
	return n
}

// planNode is a node of EXPLAIN's JSON.
type planNode struct {
	Rows    float64    `json:"Actual Rows"`
	Removed float64    `json:"Rows Removed by Filter"`
	Loops   float64    `json:"Actual Loops"`
	Plans   []planNode `json:"Plans"`
}

func TestErasureOfMessages(t *testing.T) { // invariant 11
	t.Parallel()
	w := open(t, quick())
	gone := newCustomer(w.company)
	kept := newCustomer(w.company)
	w.consume(gone, kept)
	made, err := w.intake.messages(t.Context(), []bus.Message{gone})
	if err != nil {
		t.Fatal(err)
	}
	e := privacy.Erasure{Company: w.company, Customer: made[0].Customers[0], At: time.Now()}
	err = w.db.InTx(t.Context(), pg.For(w.company), func(ctx context.Context, tx *pg.Tx) error {
		return privacy.Mark(ctx, tx, e.Company, e.Customer, e.At)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.engine.store.erase(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	t.Run("messages that name the customer are not listed any more", func(t *testing.T) {
		got, _ := w.messagesAfter(&webhookv1.ListMessagesRequest{})
		wantIDs(t, got, messageIDs(kept))
	})
	t.Run("a later event that names the customer beside others creates no message", func(t *testing.T) {
		late := changedBooking(w.company, func(b *bookingv1.BookingSnapshot) {
			b.Booking.BoughtFor = &bookingv1.CustomerReference{Id: e.Customer.String(), FirstName: "Max", Email: "max@example.com"}
		})
		w.consume(late)
		got, _ := w.messagesAfter(&webhookv1.ListMessagesRequest{})
		wantIDs(t, got, messageIDs(kept))
	})
}
