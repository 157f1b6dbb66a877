package cells

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/bus"
	"reservation.dev/platform/id"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
	"reservation.dev/test/harness"
)

// house is two cells, and a company with everything that moves between them.
type house struct {
	west, east *cell
	studio     *studio
	live, test string // the companies, as rows have them
	works      *receiver
	fails      *receiver
	tokens     map[string]string // issued by west, by name
}

// receiver counts the messages that it accepts, by identifier. While it is closed, it refuses all.
type receiver struct {
	open atomic.Bool

	mu         sync.Mutex
	accepted   map[string]int
	refused    map[string]bool
	signatures int // of the last message
}

func newReceiver() *receiver {
	return &receiver{accepted: map[string]int{}, refused: map[string]bool{}}
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	_, _ = io.Copy(io.Discard, req.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	message := req.Header.Get("Webhook-Id")
	if !r.open.Load() {
		r.refused[message] = true
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	r.accepted[message]++
	r.signatures = len(strings.Fields(req.Header.Get("Webhook-Signature")))
}

// await waits until the receiver has everything that it refused, once.
func (r *receiver) await(t *testing.T) {
	t.Helper()
	harness.Eventually(t, time.Minute, func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		for message := range r.refused {
			if r.accepted[message] != 1 {
				return fmt.Errorf("message %s was accepted %d times", message, r.accepted[message])
			}
		}
		return nil
	})
}

func newHouse(t *testing.T) *house {
	t.Helper()
	harness.Program(t, "standalone", "reservectl")
	var s shared
	// In west, an erasure and the retries of deliveries take longer than the test.
	h := &house{works: newReceiver(), fails: newReceiver(), tokens: map[string]string{}}
	h.west = newCell(t, "west", &s, map[string]string{"ERASURE_SETTLE": "1h", "WEBHOOK_RETRIES": "24h"})
	h.east = newCell(t, "east", &s, map[string]string{"ERASURE_SETTLE": "1s"})
	h.works.open.Store(true)
	h.studio = newStudio(t, h.west, h.west.Listen(t, h.works), h.west.Listen(t, h.fails))
	h.live, h.test = uuidOf(t, h.studio.id), uuidOf(t, h.studio.test)
	b := harness.NewB(t, h.west.Credentials.InterfaceB.BaseURL)
	h.tokens["kept"], h.tokens["deleted"] = b.Token(t, h.studio.key), b.Token(t, h.studio.doomed)
	return h
}

// databases connects to the databases of a cell.
func (c *cell) databases(t *testing.T) (all []*pgx.Conn) {
	t.Helper()
	for _, service := range services {
		conn, err := pgx.Connect(t.Context(), c.database(service))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
		all = append(all, conn)
	}
	return all
}

// execute runs a statement in a service's database.
func execute(t *testing.T, c *cell, service, sql string, args ...any) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), c.database(service))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	if _, err := conn.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s of %s: %s: %v", service, c.name, sql, err)
	}
}

// empty are the tables that may have no rows of the company: rows stay in them only for a moment, or only
// after a failure.
func empty() []string {
	var all []string
	for _, service := range services {
		all = append(all, service+".outbox_events", service+".erased_customers")
	}
	// This release adds nothing to purchase_keys, and no call of reports stores its key.
	return append(all, "booking.credit_changes", "booking.purchase_keys", "reports.idempotency_keys")
}

// isComplete fails t if the company has no rows in a table that can have some.
func (h *house) isComplete(t *testing.T) {
	t.Helper()
	databases := h.west.databases(t)
	rows, more := harness.CompanyRows(t, databases, h.studio.id), harness.CompanyRows(t, databases, h.studio.test)
	var missing []string
	for table, of := range rows {
		table = strings.TrimPrefix(table, "reservation_")
		if of.Number+more["reservation_"+table].Number == 0 && !slices.Contains(empty(), table) {
			missing = append(missing, table)
		}
	}
	if len(missing) > 0 || len(rows) < 100 {
		slices.Sort(missing)
		t.Errorf("of %d tables, the company has no rows in %v", len(rows), missing)
	}
}

// dueSQL lets work of the company become due: a hold, credits that are to be returned, and deliveries.
const (
	dueHoldsSQL = `update transactions set expires_at = now(), hold_expires_at = now() where company_id = $1 and status = 'held'`

	dueReturnsSQL = `update credit_returns set due_at = now() where company_id = $1`

	dueDeliveriesSQL = `update deliveries set due_at = now() where company_id = $1 and due_at is not null`

	// advanceSQL advances the test clock by eight days.
	advanceSQL = `update companies set clock_offset_seconds = clock_offset_seconds + 8 * 86400, version = version + 1 where company_id = $1`
)

// owesCredits cancels a booking by pass while the pass cannot be changed, and returns how to end that.
func (h *house) owesCredits(t *testing.T) (end func()) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), h.west.database("pass"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	if _, err := conn.Exec(t.Context(), `begin`); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), `select from customer_passes where company_id = $1 for update`, h.live); err != nil {
		t.Fatal(err)
	}
	call(h.studio.in(h.west).Ctx(t.Context()), t, h.west.op.Bookings.CancelBooking, &bookingv1.CancelBookingRequest{BookingId: h.studio.byPass})
	if n := query[int](t, h.west, "booking", `select count(*) from credit_returns where company_id = $1`, h.live); n != 1 {
		t.Fatalf("credits of %d bookings are to be returned", n)
	}
	return func() {
		if _, err := conn.Exec(t.Context(), `rollback`); err != nil {
			t.Fatal(err)
		}
	}
}

// refusesKeys runs the command while a secret is encrypted with a key that east does not have.
func (h *house) refusesKeys(t *testing.T, move *command) {
	t.Helper()
	const otherKeySQL = `update administrators set totp_secret = set_byte(totp_secret, 1, 255 - get_byte(totp_secret, 1)) where company_id = $1`
	execute(t, h.west, "auth", otherKeySQL, h.live)
	move.mayFail = true
	out, done := move.run(t, "")
	move.mayFail = false
	if done || !strings.Contains(out, "cell east does not have the master key") || h.east.leftovers(t) != 0 {
		t.Errorf("with a key that east does not have: %v, %s", done, out)
	}
	execute(t, h.west, "auth", otherKeySQL, h.live)
}

// freezes begins a move, and returns when the company is frozen. thaw lets the move continue, and returns when it is
// complete. Until then, a transaction is open that began before the freeze.
func (h *house) freezes(t *testing.T, move *command) (thaw func()) {
	t.Helper()
	end := h.owesCredits(t)
	h.isComplete(t)
	wait := move.start(t, "--freeze", "2m")
	harness.Eventually(t, time.Minute, func() error {
		for _, service := range services {
			if n := query[int](t, h.west, service, `select count(*) from company_moves where state = 'leaving' and effective_at < now()`); n != 2 {
				return fmt.Errorf("%s: %d companies are frozen", service, n)
			}
		}
		return nil
	})
	return func() {
		t.Helper()
		end()
		wait()
	}
}

// copies copies the company and fails to freeze it, because an open transaction is older. A slot of the copy could not
// be created while credits are owed.
func (h *house) copies(t *testing.T, move *command) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), h.west.database("auth"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	if _, err := conn.Exec(t.Context(), `begin; select 1`); err != nil {
		t.Fatal(err)
	}
	move.mayFail = true
	out, done := move.run(t, "", "--freeze", "1s")
	move.mayFail = false
	if done || !strings.Contains(out, "open again in west") {
		t.Fatalf("with an open transaction: %v, %s", done, out)
	}
}

// waits lets everything of the frozen company become due, and of a neighbour. West does the neighbour's work and
// nothing of the company's.
func (h *house) waits(t *testing.T) {
	t.Helper()
	neighbour := h.west.op.NewCompany(t, "Europe/London")
	customer := neighbour.ImportCustomers(t, "neighbour", 1)[0]
	class := call(neighbour.Ctx(t.Context()), t, h.west.op.Events.CreateEvent, &bookingv1.CreateEventRequest{
		Title: "Class", PricingOptions: []*bookingv1.NewPricingOption{{Name: "Drop-in", Price: 900}}, Dates: []*bookingv1.NewEventDate{inDays(9)},
	}).GetEvent()
	hold := holdSpace(t, h.west, neighbour, customer, class.GetDates()[0].GetId())
	for _, company := range []string{h.live, h.test} {
		execute(t, h.west, "booking", dueHoldsSQL, company)
		execute(t, h.west, "booking", dueReturnsSQL, company)
		execute(t, h.west, "webhook", dueDeliveriesSQL, company)
	}
	for _, service := range []string{"auth", "booking", "customer", "media", "pass", "reports", "subscription"} {
		execute(t, h.west, service, advanceSQL, h.test)
	}
	h.fails.open.Store(true)
	databases := h.west.databases(t)
	live, test := harness.CompanyRows(t, databases, h.studio.id), harness.CompanyRows(t, databases, h.studio.test)
	execute(t, h.west, "booking", dueHoldsSQL, uuidOf(t, neighbour.ID))
	harness.Eventually(t, time.Minute, func() error {
		held := call(neighbour.Ctx(t.Context()), t, h.west.op.Bookings.GetHold, &bookingv1.GetHoldRequest{HoldId: hold}).GetHold()
		if held.GetStatus() != bookingv1.HoldStatus_HOLD_STATUS_EXPIRED {
			return errors.New("the neighbour's hold has not expired")
		}
		return nil
	})
	harness.SameRows(t, live, harness.CompanyRows(t, databases, h.studio.id))
	harness.SameRows(t, test, harness.CompanyRows(t, databases, h.studio.test))
}

// continues checks that the cell does what was due, once.
func (h *house) continues(t *testing.T, c *cell) {
	t.Helper()
	s := h.studio
	live, test := s.in(c).Ctx(t.Context()), s.testIn(c).Ctx(t.Context())
	harness.Eventually(t, time.Minute, func() error {
		hold := call(live, t, c.op.Bookings.GetHold, &bookingv1.GetHoldRequest{HoldId: s.hold}).GetHold()
		testHold := call(test, t, c.op.Bookings.GetHold, &bookingv1.GetHoldRequest{HoldId: s.testHold}).GetHold()
		entry := call(live, t, c.op.Waitlist.GetWaitlistEntry, &bookingv1.GetWaitlistEntryRequest{Id: s.waiting}).GetEntry()
		pass := call(live, t, c.op.Passes.GetCustomerPass, &passv1.GetCustomerPassRequest{Id: s.pass}).GetCustomerPass()
		periods := call(test, t, c.op.Subscriptions.ListPeriods, &subscriptionv1.ListPeriodsRequest{SubscriptionId: s.subscription}).GetPeriods()
		switch {
		case hold.GetStatus() != bookingv1.HoldStatus_HOLD_STATUS_EXPIRED, testHold.GetStatus() != bookingv1.HoldStatus_HOLD_STATUS_EXPIRED:
			return fmt.Errorf("the holds are %v and %v", hold.GetStatus(), testHold.GetStatus())
		case entry.GetState() != bookingv1.WaitlistState_WAITLIST_STATE_BOOKED:
			return fmt.Errorf("the entry of the waitlist is %v", entry.GetState())
		case pass.GetRemainingUses() != pass.GetTotalUses():
			return fmt.Errorf("the pass has %d uses of %d", pass.GetRemainingUses(), pass.GetTotalUses())
		case len(periods) != 2 || !periods[0].GetGranted() || !periods[1].GetGranted():
			return fmt.Errorf("the subscription has the periods %v", periods)
		}
		return nil
	})
	full, err := id.Parse[id.EventDate](s.class.GetDates()[0].GetId())
	if err != nil {
		t.Fatal(err)
	}
	booked := query[int](t, c, "booking", `select booked from event_dates where company_id = $1 and id = $2`, h.live, full)
	if booked != 2 {
		t.Errorf("%d spaces of the full date are booked", booked)
	}
	h.fails.await(t)
	erasures := privacyv1.NewErasureServiceClient(c.connect(t, c.Customer))
	harness.Eventually(t, time.Minute, func() error {
		erasure := call(live, t, erasures.GetErasure, &privacyv1.GetErasureRequest{CustomerId: s.erased}).GetErasure()
		if erasure.GetCompletedAt() == nil {
			return fmt.Errorf("the erasure is not complete: %v", erasure)
		}
		return nil
	})
}

// isUsable uses what was made in the other cell. code is the owner's second step.
func (h *house) isUsable(t *testing.T, c *cell, code string) {
	t.Helper()
	s := h.studio
	live, none := s.in(c).Ctx(t.Context()), c.op.As(t.Context(), "")
	if again := s.createCustomer(t, c); again != s.keyed {
		t.Errorf("the key of %s has made %s", s.keyed, again)
	}
	call(none, t, c.op.Administrators.Authenticate, &authv1.AuthenticateRequest{SessionToken: s.session})
	call(none, t, c.op.Administrators.SignIn, &authv1.SignInRequest{Email: s.owner, Password: s.password, TotpCode: code})
	call(none, t, c.op.Administrators.GetInvitation, &authv1.GetInvitationRequest{Token: s.invitation})
	call(none, t, c.op.Administrators.GetPasswordReset, &authv1.GetPasswordResetRequest{Token: s.reset})
	call(none, t, c.op.Tokens.ExchangePublishableKey, &authv1.ExchangePublishableKeyRequest{Key: s.publishable})
	call(none, t, c.op.Calendars.ReadCalendar, &bookingv1.ReadCalendarRequest{Secret: s.calendar})
	h.completesUpload(t, c, live)
	h.works.mu.Lock()
	before := len(h.works.accepted)
	h.works.mu.Unlock()
	call(live, t, c.op.Bookings.CreateTransaction, &bookingv1.CreateTransactionRequest{
		PurchaserId: s.customers[5], Lines: []*bookingv1.TransactionLine{{EventDateId: s.class.GetDates()[1].GetId()}},
	})
	harness.Eventually(t, time.Minute, func() error {
		h.works.mu.Lock()
		defer h.works.mu.Unlock()
		if len(h.works.accepted) == before || h.works.signatures != 2 {
			return fmt.Errorf("%d messages more, the last one with %d signatures", len(h.works.accepted)-before, h.works.signatures)
		}
		return nil
	})
}

// completesUpload sends the second part of the film and plays the film.
func (h *house) completesUpload(t *testing.T, c *cell, live context.Context) {
	t.Helper()
	s := h.studio
	upload := call(live, t, c.op.Media.GetUpload, &mediav1.GetUploadRequest{ItemId: s.film, UploadId: s.upload}).GetUpload()
	if upload.GetStatus() == mediav1.UploadStatus_UPLOAD_STATUS_OPEN {
		s.send(t, c, 2, s.content[upload.GetPartSize():])
		harness.Eventually(t, time.Minute, func() error {
			res := call(live, t, c.op.Media.CompleteUpload, &mediav1.CompleteUploadRequest{ItemId: s.film, UploadId: s.upload})
			if res.GetUpload().GetStatus() != mediav1.UploadStatus_UPLOAD_STATUS_COMPLETE {
				return fmt.Errorf("the upload is %v", res.GetUpload().GetStatus())
			}
			return nil
		})
		call(live, t, c.op.Media.UpdateMediaItem, &mediav1.UpdateMediaItemRequest{Id: s.film, Status: mediav1.MediaStatus_MEDIA_STATUS_PUBLISHED})
		call(live, t, c.op.Media.CreateEntitlement, &mediav1.CreateEntitlementRequest{ItemId: s.film, CustomerId: s.customers[0]})
	}
	link := call(live, t, c.op.Media.CreatePlaybackLink, &mediav1.CreatePlaybackLinkRequest{ItemId: s.film, CustomerId: s.customers[0]}).GetUrl()
	played, err := io.ReadAll(c.file(t, http.MethodGet, link, nil).Body)
	if err != nil || !bytes.Equal(played, s.content) {
		t.Errorf("the film has %d bytes instead of %d: %v", len(played), len(s.content), err)
	}
}

// finishes deletes the company in the cell that it has left. The mark stays as long as tokens can live.
func (h *house) finishes(t *testing.T, move *command, from, to *cell) {
	t.Helper()
	move.run(t, "", "--finish")
	if n := from.rows(t, h.live) + from.rows(t, h.test); n != 0 {
		t.Errorf("%d rows are left in %s", n, from.name)
	}
	if files, err := filepath.Glob(filepath.Join(from.Dir, "media", h.live, "*", "*")); err != nil || len(files) > 0 {
		t.Errorf("the files %v are left in %s: %v", files, from.name, err)
	}
	h.hasNoEvents(t, from)
	if n := from.leftovers(t); n != int64(2*len(services)) {
		t.Errorf("%d marks are left in %s", n, from.name)
	}
	for _, service := range services {
		execute(t, from, service, `update company_moves set effective_at = effective_at - interval '24 hours 1 minute'`)
	}
	move.run(t, "", "--finish")
	if n := from.leftovers(t) + to.leftovers(t); n != 0 {
		t.Errorf("%d publications, slots, subscriptions and marks are left", n)
	}
}

// hasNoEvents fails t if the stream of a cell has events of the company.
func (h *house) hasNoEvents(t *testing.T, c *cell) {
	t.Helper()
	b, err := bus.Connect(t.Context(), bus.Config{URL: "nats://" + c.nats}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	company, err := id.Parse[id.Company](h.studio.id)
	if err != nil {
		t.Fatal(err)
	}
	if more, err := b.HasAfter(t.Context(), 0, company, company.Test()); err != nil || more {
		t.Errorf("the stream of %s has events of the company: %v, %v", c.name, more, err)
	}
}

// returns moves the company back. A key was deleted in the other cell.
func (h *house) returns(t *testing.T) {
	t.Helper()
	call(h.studio.in(h.east).Ctx(t.Context()), t, h.east.op.APIKeys.DeleteApiKey, &authv1.DeleteApiKeyRequest{Id: h.studio.doomed.ID})
	back := newCommand(t, h.studio.id, h.east, h.west)
	back.run(t, "")
	b := harness.NewB(t, h.west.Credentials.InterfaceB.BaseURL)
	for name, want := range map[string]int{"kept": http.StatusOK, "deleted": http.StatusUnauthorized} {
		if answer := b.Do(t, harness.Request{Path: "/events", Token: h.tokens[name]}); answer.Code != want {
			t.Errorf("the token of the %s key, from before the moves: %d %s", name, answer.Code, answer.Body)
		}
	}
	h.isUsable(t, h.west, h.studio.recovery[0])
	h.verify(t, h.west)
	h.finishes(t, back, h.east, h.west)
}

// verify recomputes the numbers of the company in both modes.
func (h *house) verify(t *testing.T, c *cell) {
	t.Helper()
	c.verify(t, h.studio.id)
	c.verify(t, h.studio.test)
}

// TestSlowCompanyWithEverythingMoves moves a company that has rows in every table, with work that becomes due
// while the company is frozen, and moves it back.
func TestSlowCompanyWithEverythingMoves(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	there := newCommand(t, h.studio.id, h.west, h.east)
	h.refusesKeys(t, there)
	h.copies(t, there)
	thaw := h.freezes(t, there)
	h.waits(t)
	databases := h.west.databases(t)
	left := harness.CompanyRows(t, databases, h.studio.id)
	thaw()
	h.continues(t, h.east)
	h.isUsable(t, h.east, totpCode(t, h.studio.totp, 1))
	harness.SameRows(t, left, harness.CompanyRows(t, databases, h.studio.id))
	h.verify(t, h.east)
	h.finishes(t, there, h.west, h.east)
	h.returns(t)
}
