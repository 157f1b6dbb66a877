package load

import (
	"bufio"
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/types/known/timestamppb"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/test/harness"
)

// benchEndpoints is the number of receivers.
const benchEndpoints = 10

// patience is the time limit for each step.
const patience = 3 * time.Minute

// newsroom is the platform with one replica of the webhook service.
type newsroom struct {
	*harness.Cluster
	op      *harness.Operator
	admin   *pgx.Conn // the superuser's
	webhook *pgx.Conn // the owner's
	booking *pgx.Conn
}

func newNewsroom(b *testing.B) *newsroom {
	return newNewsroomOf(b, harness.ClusterOptions{Webhooks: 1, OwnNATS: true})
}

func newNewsroomOf(b *testing.B, o harness.ClusterOptions) *newsroom {
	w := &newsroom{Cluster: harness.StartCluster(b, o)}
	w.op = w.Operator(b)
	connect := func(url string) *pgx.Conn {
		conn, err := pgx.Connect(b.Context(), url)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = conn.Close(context.Background()) })
		return conn
	}
	w.admin, w.booking = connect(w.Postgres.AdminURL()), connect(w.OwnerURL("booking"))
	if o.Webhooks > 0 {
		w.webhook = connect(w.OwnerURL("webhook"))
	}
	return w
}

// newPublisher creates a company with a class and endpoints. The first hanging endpoints never
// answer.
func (w *newsroom) newPublisher(b *testing.B, endpoints, hanging int) *publisher {
	company := w.op.NewCompany(b, "Europe/London")
	p := &publisher{w: w, company: company, ctx: company.Ctx(b.Context()), customer: company.ImportCustomers(b, "buyer", 1)[0], release: make(chan struct{})}
	made, err := w.op.Events.CreateEvent(p.ctx, &bookingv1.CreateEventRequest{
		Title: "Morning Vinyasa", PricingOptions: []*bookingv1.NewPricingOption{{Name: "Drop-in", Price: 1200}},
		Dates: []*bookingv1.NewEventDate{{StartsAt: timestamppb.New(time.Now().AddDate(0, 1, 0).Truncate(time.Second)), DurationMinutes: 60}},
	})
	if err != nil {
		b.Fatal(err)
	}
	p.event, p.date = made.GetEvent().GetId(), made.GetEvent().GetDates()[0].GetId()
	for i := range endpoints {
		r := &receiver{hangs: i < hanging, release: p.release}
		p.receivers = append(p.receivers, r)
		p.urls = append(p.urls, w.Listen(b, r)+"/hook")
		id, _ := company.NewEndpoint(b, p.urls[i])
		p.endpoints = append(p.endpoints, id)
	}
	return p
}

// awaitLog returns when every finished delivery is in the log.
func (w *newsroom) awaitLog(b *testing.B) {
	b.Helper()
	w.awaitNone(b, w.webhook, `select count(*) from deliveries where state = 'pending'`)
}

// awaitPublished returns when every booking event is in its stream.
func (w *newsroom) awaitPublished(b *testing.B) {
	b.Helper()
	w.awaitNone(b, w.booking, `select count(*) from outbox`)
}

func (w *newsroom) awaitNone(b *testing.B, db *pgx.Conn, sql string) {
	b.Helper()
	harness.Eventually(b, patience, func() error {
		var n int
		if err := db.QueryRow(b.Context(), sql).Scan(&n); err != nil {
			b.Fatal(err)
		}
		if n > 0 {
			return fmt.Errorf("%d events are left in the outbox", n)
		}
		return nil
	})
}

// cost is processor time, by process.
type cost struct {
	webhook, nats, sessions, server time.Duration // sessions: database sessions of the webhook service
	booking, bookingSessions        time.Duration
}

func (c cost) minus(o cost) cost {
	return cost{
		webhook: c.webhook - o.webhook, nats: c.nats - o.nats, sessions: c.sessions - o.sessions, server: c.server - o.server,
		booking: c.booking - o.booking, bookingSessions: c.bookingSessions - o.bookingSessions,
	}
}

func (c *cost) add(o cost) {
	c.webhook += o.webhook
	c.nats += o.nats
	c.sessions += o.sessions
	c.server += o.server
	c.booking += o.booking
	c.bookingSessions += o.bookingSessions
}

// delivery returns the cost of all but the bookings.
func (c cost) delivery() time.Duration { return c.webhook + c.nats + c.sessions + c.server }

// whole returns the cost of the whole platform.
func (c cost) whole() time.Duration { return c.delivery() + c.booking + c.bookingSessions }

// spent returns the processor time used so far. A process that is not running counts as zero, so
// a process that starts later is counted from its start.
func (w *newsroom) spent(b *testing.B) cost {
	b.Helper()
	rows, err := w.admin.Query(b.Context(), `select pid, coalesce(datname, '') from pg_stat_activity where pid <> pg_backend_pid()`)
	if err != nil {
		b.Fatal(err)
	}
	type session struct {
		PID      int32
		Database string
	}
	sessions, err := pgx.CollectRows(rows, pgx.RowToStructByPos[session])
	if err != nil {
		b.Fatal(err)
	}
	// The server's own time includes sessions that have ended.
	c := cost{booking: harness.ProcessorTime(b, w.Part("booking").PID()), nats: harness.ProcessorTime(b, w.NATS.PID()), server: harness.ProcessorTime(b, w.Postgres.PID(b))}
	if pid := w.Part("webhook").PID(); pid != 0 {
		c.webhook = harness.ProcessorTime(b, pid)
	}
	for _, s := range sessions {
		switch d := harness.ProcessorTime(b, int(s.PID)); s.Database {
		case "webhook":
			c.sessions += d
		case "booking":
			c.bookingSessions += d
		case "":
			c.server += d
		}
	}
	return c
}

// connections counts requests by whether their connection was reused.
type connections struct{ yes, no float64 }

func (c connections) minus(o connections) connections { return connections{c.yes - o.yes, c.no - o.no} }
func (c connections) share() float64                  { return c.yes / (c.yes + c.no) }

func (c *connections) add(o connections) {
	c.yes += o.yes
	c.no += o.no
}

func (w *newsroom) connections(b *testing.B) (c connections) {
	b.Helper()
	res, err := http.Get("http://" + w.Part("webhook").AdminAddr() + "/metrics")
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		labels, value, _ := strings.Cut(lines.Text(), "} ")
		if !strings.HasPrefix(labels, "webhook_connections_total{") {
			continue
		}
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			b.Fatal(err)
		}
		if strings.Contains(labels, `reused="yes"`) {
			c.yes += n
		} else {
			c.no += n
		}
	}
	if err := lines.Err(); err != nil {
		b.Fatal(err)
	}
	return c
}

// readRegistration returns the registration that a webhook is about.
func readRegistration(body io.Reader) string {
	text, err := io.ReadAll(io.LimitReader(body, 1<<20))
	if err != nil {
		return ""
	}
	_, after, _ := bytes.Cut(text, []byte(`"registrationId":"`))
	id, _, _ := bytes.Cut(after, []byte(`"`))
	return string(id)
}

// floor only signs and posts requests, as the webhook service does.
type floor struct {
	client *http.Client
	urls   []string
	body   []byte
	key    []byte
}

// floorWorkers is the number of concurrent senders.
const floorWorkers = 64

func newFloor(b *testing.B, w *newsroom, p *publisher) *floor {
	transport := &http.Transport{TLSClientConfig: w.ClientTLS(b), MaxIdleConnsPerHost: floorWorkers, DisableCompression: true}
	b.Cleanup(transport.CloseIdleConnections)
	f := &floor{client: &http.Client{Transport: transport}, urls: p.urls, key: make([]byte, sha256.Size)}
	f.body = fmt.Appendf(nil, `{"id":"msg_01m7z55hxpfw3sx71cs38x7wce","event":"registration.created","timestamp":"2026-03-01T09:00:00Z","data":{%s}}`,
		`"registrationId":"reg_01m7z55hxpfw3sx71cs38x7wcf","filler":"`+strings.Repeat("x", 420)+`"`)
	return f
}

func (f *floor) send(b *testing.B, n int) {
	var next atomic.Int64
	atOnce(b, floorWorkers, n, func(int) error { return f.post(b.Context(), f.urls[next.Add(1)%int64(len(f.urls))]) })
}

func (f *floor) post(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(f.body))
	if err != nil {
		return err
	}
	now := strconv.FormatInt(time.Now().Unix(), 10)
	digest := sha256.Sum256(f.body)
	claims := `{"iss":"reservation","iat":` + now + `,"body_sha256":"` + hex.EncodeToString(digest[:]) + `","data":` + string(f.body) + `}`
	token := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + base64.RawURLEncoding.EncodeToString([]byte(claims))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Service-Signature", token+"."+base64.RawURLEncoding.EncodeToString(f.mac(token)))
	req.Header.Set("Webhook-Id", "msg_01m7z55hxpfw3sx71cs38x7wce")
	req.Header.Set("Webhook-Timestamp", now)
	req.Header.Set("Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(f.mac("msg_01m7z55hxpfw3sx71cs38x7wce."+now+"."+string(f.body))))
	res, err := f.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return err
	}
	if res.StatusCode != http.StatusNoContent {
		return fmt.Errorf("%s answered %s", url, res.Status)
	}
	return nil
}

func (f *floor) mac(text string) []byte {
	mac := hmac.New(sha256.New, f.key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

// ownCPU returns the processor time of this process.
func ownCPU(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return err.Error()
	}
	return strings.Join(strings.Fields(string(text))[:3], " ")
}
