package faults

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/devkit/mtlstest"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/mtls"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/test/harness"
)

const (
	// connectionAge is the maximum age of a connection between services in this test.
	connectionAge = time.Second
	// renewal is longer than it takes until services load a replaced file and renew every
	// connection.
	renewal = 4 * connectionAge
	// customersOfLoad is the number of customers who book while something is replaced.
	customersOfLoad = 3
)

// TestSlowSecurity runs the platform with mutual TLS, and with TLS to PostgreSQL and NATS. It
// replaces certificates and credentials while spaces are sold.
func TestSlowSecurity(t *testing.T) {
	t.Parallel()
	w := newSecureCluster(t)
	t.Run("a booking made on Interface B appears on Interface A and is delivered by webhook", w.testPath)
	t.Run("every session with PostgreSQL is encrypted", w.testSessions)
	t.Run("the operator's command presents its certificate", w.testCommand)
	t.Run("a caller that is not on the list is refused", w.testCallers)
	t.Run("certificates and their authority are replaced without an error", w.testCertificates)
	t.Run("a service's credential and the master key are replaced without an error", w.testSecrets)
	t.Run("the user for NATS is replaced without an error, and no event is lost", w.testNATSUser)
}

// secureCluster is a secure cluster with a company that sells spaces in a class.
type secureCluster struct {
	*harness.Cluster
	op       *harness.Operator
	company  *harness.Company
	class    *bookingv1.Event
	customer []string
	b        *harness.B
	token    string // of Interface B
	mailbox  *harness.Mailbox

	sold atomic.Int64
}

func newSecureCluster(t *testing.T) *secureCluster {
	w := &secureCluster{Cluster: harness.StartCluster(t, harness.ClusterOptions{
		Secure: true, Bookings: 2, GatewaysB: 1, Webhooks: 1,
		Env: map[string]string{"GRPC_CONNECTION_AGE": connectionAge.String(), "SHUTDOWN_DRAIN": "2s"},
	})}
	w.op = w.Operator(t)
	w.company = w.op.NewCompany(t, "Europe/London")
	w.customer = w.company.ImportCustomers(t, "secure", customersOfLoad)
	w.b = harness.NewB(t, w.GatewaysB[0])
	w.token = w.b.Token(t, w.company.NewKey(t, 10_000))
	w.mailbox = w.NewMailbox(t, w.company, nil)
	w.class = w.newClass(t, w.company)
	return w
}

// newClass creates an event of a company with a date in a week.
func (w *secureCluster) newClass(t *testing.T, company *harness.Company) *bookingv1.Event {
	t.Helper()
	made, err := w.op.Events.CreateEvent(company.Ctx(t.Context()), &bookingv1.CreateEventRequest{
		Title: "Morning Vinyasa", PricingOptions: []*bookingv1.NewPricingOption{{Name: "Drop-in", Price: 1200}},
		Dates: []*bookingv1.NewEventDate{{StartsAt: timestamppb.New(time.Now().Add(7 * aDay).Truncate(time.Second)), DurationMinutes: 60}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return made.GetEvent()
}

// sell sells a space to one of the customers.
func (w *secureCluster) sell(ctx context.Context, customer string) error {
	answer, err := w.b.Try(ctx, harness.Request{
		Path: "/events/" + w.class.GetId() + "/registrations", Token: w.token,
		Body: fmt.Sprintf(`{"customerId":%q,"spots":1,"payment":{"method":"CARD"}}`, customer),
	})
	if err == nil {
		err = answer.Want(http.StatusCreated, nil)
	}
	if err == nil {
		w.sold.Add(1)
	}
	return err
}

// awaitWebhooks waits until every booking has been delivered by webhook.
func (w *secureCluster) awaitWebhooks(t *testing.T) {
	t.Helper()
	harness.Eventually(t, time.Minute, func() error {
		if got, want := len(w.mailbox.Mail()), int(w.sold.Load()); got < want {
			return fmt.Errorf("%d webhooks for %d sales", got, want)
		}
		return nil
	})
}

func (w *secureCluster) testPath(t *testing.T) {
	if err := w.sell(t.Context(), w.customer[0]); err != nil {
		t.Fatal(err)
	}
	a := w.A(t)
	token := a.Token(t, w.company.NewClient(t))
	answer := a.Do(t, harness.Request{Path: bookingsPath(w.customer[0]), Token: token})
	if err := answer.Want(http.StatusOK, nil); err != nil || !strings.Contains(string(answer.Body), "Morning Vinyasa") {
		t.Errorf("%v: %s", err, answer.Body)
	}
	w.awaitWebhooks(t)
}

func (w *secureCluster) testSessions(t *testing.T) {
	conn, err := pgx.Connect(t.Context(), w.Postgres.AdminURL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var plain, encrypted int
	if err := conn.QueryRow(t.Context(), `select count(*) filter (where not ssl), count(*) filter (where ssl)
		from pg_stat_ssl join pg_stat_activity using (pid) where usename <> 'postgres'`).Scan(&plain, &encrypted); err != nil {
		t.Fatal(err)
	}
	if plain > 0 || encrypted < 5 {
		t.Errorf("%d sessions are unencrypted, %d are encrypted", plain, encrypted)
	}
}

func (w *secureCluster) testCommand(t *testing.T) {
	text, err := json.Marshal(map[string]any{"grpc": map[string]any{
		"auth": w.Auth, "customer": w.Customer, "booking": w.Booking, "pass": w.Pass, "subscription": w.Subscription, "media": w.Media, "reports": w.Reports, "webhook": w.Webhook,
		"service_credential": w.OperatorCredential,
	}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "credentials.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	env := w.Security.Env(t, "reservectl")
	env["RESERVATION_CREDENTIALS"] = file
	list := func(program string, args ...string) harness.Result {
		return harness.Run(t, harness.Command{Program: program, Args: args, Env: env})
	}
	if r := list("reservectl", "verify", "--company", w.company.ID); r.Code != 0 {
		t.Errorf("exit status %d with a certificate: %s", r.Code, r.Errors)
	}
	mount := map[string]string{}
	for flag, name := range map[string]string{"--tls-cert": "GRPC_TLS_CERT_FILE", "--tls-key": "GRPC_TLS_KEY_FILE", "--tls-ca": "GRPC_TLS_CA_FILE"} {
		mount[flag] = env[name]
		delete(env, name)
	}
	if r := list("reservectl", "company", "list"); r.Code != 1 || !strings.Contains(r.Errors, "temporarily unavailable") {
		t.Errorf("exit status %d without a certificate: %s", r.Code, r.Errors)
	}
	if r := list("reservectl", "company", "list", "--tls-ca", mount["--tls-ca"]); r.Code != 2 || !strings.Contains(r.Errors, "GRPC_TLS_CERT_FILE and GRPC_TLS_KEY_FILE must be set too") {
		t.Errorf("exit status %d with only an authority: %s", r.Code, r.Errors)
	}
	args := []string{"company", "list"}
	for flag, path := range mount {
		args = append(args, flag, path)
	}
	if r := list("reservectl", args...); r.Code != 0 || !strings.Contains(r.Output, w.company.ID) {
		t.Errorf("exit status %d with flags: %s", r.Code, r.Errors)
	}
}

// call fetches the class from booking with a certificate and the operator's token.
func (w *secureCluster) call(t *testing.T, files *mtls.Files) error {
	t.Helper()
	p := w.Platform
	p.TLS = files
	ctx, cancel := context.WithTimeout(w.company.Ctx(t.Context()), 10*time.Second)
	defer cancel()
	_, err := p.Operator(t).Events.GetEvent(ctx, &bookingv1.GetEventRequest{Id: w.class.GetId()})
	return err
}

func (w *secureCluster) testCallers(t *testing.T) {
	if err := w.call(t, w.Security.Files(t, "reservectl")); err != nil {
		t.Errorf("an allowed caller: %v", err)
	}
	// Pass never calls booking, and billing is not a service of the platform.
	for _, stranger := range []string{"pass", "billing"} {
		f := fault.From(w.call(t, w.Security.Files(t, stranger)))
		if f == nil || f.Reason != fault.ReasonCallerNotAllowed || !strings.Contains(f.Message, stranger) {
			t.Errorf("%s: %v", stranger, f)
		}
	}
	other := mtlstest.NewCA(t, "another")
	for what, files := range map[string]*mtls.Files{"no certificate": nil, "one of another authority": open(t, other, "gateway-a", w.Security.CA)} {
		if f := fault.From(w.call(t, files)); f == nil || f.Kind != fault.Unavailable {
			t.Errorf("%s: %v", what, f)
		}
	}
	logs := ""
	for _, part := range []string{"booking", "booking-2"} {
		log, err := os.ReadFile(w.Part(part).LogFile())
		if err != nil {
			t.Fatal(err)
		}
		logs += string(log)
	}
	if !strings.Contains(logs, "rpc refused") || !strings.Contains(logs, "billing") {
		t.Error("the refusals are not in booking's logs")
	}
}

// open returns the files of a caller with the given name.
func open(t *testing.T, ca *mtlstest.CA, name string, trusted ...*mtlstest.CA) *mtls.Files {
	t.Helper()
	m := mtlstest.NewMount(t, ca.Issue(t, name), trusted...)
	f, err := mtls.Open(mtls.Config{CertFile: m.Path(mtlstest.CertFile), KeyFile: m.Path(mtlstest.KeyFile), CAFile: m.Path(mtlstest.CAFile)}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// underLoad sells spaces and reads bookings while it runs the steps one after another. Every
// answer must be right, and each step must see many requests.
func (w *secureCluster) underLoad(t *testing.T, steps ...func()) {
	t.Helper()
	a := w.A(t)
	token := a.Token(t, w.company.NewClient(t))
	ctx, cancel := context.WithCancel(t.Context())
	var load sync.WaitGroup
	var faults atomic.Int64
	run := func(do func() error) {
		load.Go(func() {
			for ctx.Err() == nil {
				if err := do(); err != nil && faults.Add(1) <= 5 {
					t.Error(err)
				}
			}
		})
	}
	var read atomic.Int64
	for _, customer := range w.customer {
		run(func() error { return w.sell(context.WithoutCancel(ctx), customer) })
		run(func() error {
			answer, err := a.Try(context.WithoutCancel(ctx), harness.Request{Path: bookingsPath(customer) + "?page=0", Token: token})
			if err == nil {
				err = answer.Want(http.StatusOK, nil)
			}
			read.Add(1)
			return err
		})
	}
	for _, step := range steps {
		step()
		sold, seen := w.sold.Load(), read.Load()
		<-time.After(renewal)
		if w.sold.Load()-sold < 5 || read.Load()-seen < 5 {
			t.Errorf("only %d sales and %d lists after a step", w.sold.Load()-sold, read.Load()-seen)
		}
	}
	cancel()
	load.Wait()
	t.Logf("%d sales, %d lists, %d faults", w.sold.Load(), read.Load(), faults.Load())
}

func (w *secureCluster) testCertificates(t *testing.T) {
	s, next := w.Security, mtlstest.NewCA(t, "the next authority")
	old := s.CA
	w.underLoad(t,
		func() {},
		func() { s.Certify(t, old, old) },        // renewed certificates
		func() { s.Certify(t, old, old, next) },  // both authorities are trusted
		func() { s.Certify(t, next, old, next) }, // certificates of the next authority
		func() { s.Certify(t, next, next) },      // the old authority is not trusted any more
	)
	if err := w.call(t, open(t, next, "gateway-a", next)); err != nil {
		t.Errorf("a certificate from the next authority: %v", err)
	}
	if f := fault.From(w.call(t, open(t, old, "gateway-a", next))); f == nil || f.Kind != fault.Unavailable {
		t.Errorf("a certificate from the old authority: %v", f)
	}
	w.awaitWebhooks(t)
}

// restart stops a service gracefully and starts it with other settings.
func (w *secureCluster) restart(t *testing.T, part string, settings map[string]string) {
	t.Helper()
	w.Part(part).Stop(t)
	w.Part(part).Set(settings)
	w.Part(part).Restart(t)
}

// restartAll restarts the services that have a master key.
func (w *secureCluster) restartAll(t *testing.T, settings map[string]string) {
	t.Helper()
	for _, part := range []string{"auth", "media", "webhook"} {
		w.restart(t, part, settings)
	}
}

// testSecrets follows the steps of the operations page. Booking has two replicas and is always
// available. Auth, media and webhook have one, but requests with a token do not need them during their
// restart.
func (w *secureCluster) testSecrets(t *testing.T) {
	old, next := w.MasterKey(), base64.StdEncoding.EncodeToString([]byte("a master key of thirty-two bytes"))
	former, credential := w.Credential("booking"), w.AddCredential(t, "booking, the second")
	keys := func(order ...string) map[string]string {
		return map[string]string{"MASTER_KEY": strings.Join(order, ",")}
	}
	own := map[string]string{"SERVICE_CREDENTIAL_ID": credential.ID, "SERVICE_CREDENTIAL_SECRET": credential.Secret}
	w.underLoad(t,
		func() { w.restartAll(t, keys(old, next)) },
		func() { w.restartAll(t, keys(next, old)) },
		// Callers need a moment to find a restarted process.
		func() { w.restart(t, "booking", own) },
		func() { w.restart(t, "booking-2", own) },
		func() {
			op := w.Operator(t)
			if _, err := op.Keys.RotateSigningKey(op.As(t.Context(), ""), &authv1.RotateSigningKeyRequest{}); err != nil {
				t.Error(err)
			}
			if _, err := op.Credentials.DisableServiceCredential(op.As(t.Context(), ""), &authv1.DisableServiceCredentialRequest{Id: former.ID}); err != nil {
				t.Error(err)
			}
		},
	)
	// Booking has to fetch the names of a company that it does not know yet.
	w.op = w.Operator(t)
	company := w.op.NewCompany(t, "Europe/London")
	customer, class := company.ImportCustomers(t, "new", 1)[0], w.newClass(t, company)
	if _, err := w.op.Bookings.CreateTransaction(company.Ctx(t.Context()), &bookingv1.CreateTransactionRequest{
		PurchaserId: customer, Lines: []*bookingv1.TransactionLine{{EventDateId: class.GetDates()[0].GetId(), Spaces: 1}},
	}); err != nil {
		t.Errorf("a company that is new to booking: %v", err)
	}
	w.awaitWebhooks(t)
}

func (w *secureCluster) testNATSUser(t *testing.T) {
	w.underLoad(t, func() { w.RenameNATSUser(t, "parts-b", "another") })
	w.awaitWebhooks(t)
}
