package reservectl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"google.golang.org/grpc"

	"reservation.dev/platform/id"
	"reservation.dev/platform/mtls"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// access holds the platform's addresses and the credentials for it, in the fields of
// credentials.json.
type access struct {
	file      string
	test      bool        // act in the test mode of the company
	tls       mtls.Config // reservectl's certificate, if the platform requires one
	CompanyID string      `json:"company_id"`
	Webhooks  struct {
		CAFile string `json:"ca_file"`
	} `json:"webhooks"`
	// Media has the URL at which this machine reaches the files of the media service.
	Media struct {
		BaseURL string `json:"base_url"`
	} `json:"media"`
	InterfaceA struct {
		BaseURL      string `json:"base_url"`
		ClientID     string `json:"client_id"`
		ClientSecret string `json:"client_secret"`
	} `json:"interface_a"`
	InterfaceB struct {
		APIBaseURL string `json:"api_base_url"`
		APIKey     string `json:"api_key"`
		APISecret  string `json:"api_secret"`
	} `json:"interface_b"`
	GRPC struct {
		Auth              string `json:"auth"`
		Customer          string `json:"customer"`
		Booking           string `json:"booking"`
		Pass              string `json:"pass"`
		Subscription      string `json:"subscription"`
		Media             string `json:"media"`
		Reports           string `json:"reports"`
		Webhook           string `json:"webhook"`
		ServiceToken      string `json:"service_token"`
		ServiceCredential struct {
			ID     string `json:"id"`
			Secret string `json:"secret"`
		} `json:"service_credential"`
	} `json:"grpc"`
}

// load fills in what the flags leave empty, from the environment and credentials.json.
// The environment does not set the flags' defaults, because help would print them.
func (a *access) load() error {
	if a.GRPC.ServiceToken == "" {
		a.GRPC.ServiceToken = os.Getenv("RESERVATION_TOKEN")
	}
	a.locate()
	if a.file == "" {
		if a.GRPC.ServiceToken == "" {
			return usageError{errors.New("no credentials: set RESERVATION_CREDENTIALS or --credentials to the path of a credentials.json, or give --token and the services' addresses")}
		}
		return nil
	}
	f, err := readAccess(a.file)
	if err != nil {
		return err
	}
	if f.GRPC.ServiceToken == "" && f.GRPC.ServiceCredential.ID == "" {
		return fmt.Errorf("credentials: %s is not a credentials.json: it has neither grpc.service_token nor grpc.service_credential", a.file)
	}
	for _, field := range []struct{ to, from *string }{
		{&a.CompanyID, &f.CompanyID}, {&a.GRPC.Auth, &f.GRPC.Auth}, {&a.GRPC.Customer, &f.GRPC.Customer},
		{&a.GRPC.Booking, &f.GRPC.Booking}, {&a.GRPC.Pass, &f.GRPC.Pass},
		{&a.GRPC.Subscription, &f.GRPC.Subscription}, {&a.GRPC.Media, &f.GRPC.Media}, {&a.GRPC.Reports, &f.GRPC.Reports},
		{&a.GRPC.Webhook, &f.GRPC.Webhook}, {&a.Webhooks.CAFile, &f.Webhooks.CAFile},
		{&a.Media.BaseURL, &f.Media.BaseURL},
	} {
		if *field.to == "" {
			*field.to = *field.from
		}
	}
	a.InterfaceB = f.InterfaceB
	if a.GRPC.ServiceToken == "" {
		a.GRPC.ServiceToken, a.GRPC.ServiceCredential = f.GRPC.ServiceToken, f.GRPC.ServiceCredential
	}
	return nil
}

// locate fills in the path of credentials.json from the environment.
func (a *access) locate() {
	if a.file == "" {
		a.file = os.Getenv("RESERVATION_CREDENTIALS")
	}
}

// readAccess reads a credentials.json. Its errors do not show the file's contents.
func readAccess(path string) (f access, err error) {
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, fmt.Errorf("credentials: %s does not exist; it exists while the platform runs (make run)", path)
	case errors.Is(err, fs.ErrPermission):
		return f, fmt.Errorf("credentials: no permission to read %s; run reservectl as the user who runs the platform", path)
	case err != nil:
		return f, fmt.Errorf("credentials: %w", err)
	}
	if err := json.Unmarshal(text, &f); err != nil {
		return f, fmt.Errorf("credentials: %s is not a credentials.json: %w", path, err)
	}
	return f, nil
}

// session is an open connection to one service, and the context of its calls.
type session struct {
	conn *grpc.ClientConn
	ctx  context.Context
}

func (s *session) close() { _ = s.conn.Close() }

// dial opens a session with the service at addr, for the company that the flags or
// credentials.json name. Without a company, only calls that need none succeed.
func (a *app) dial(ctx context.Context, name, addr string) (*session, error) {
	var company id.Company
	if a.access.CompanyID != "" {
		var err error
		if company, err = id.Parse[id.Company](a.access.CompanyID); err != nil {
			return nil, usageError{fmt.Errorf("--company must be the identifier of a company (comp_…), not %q", a.access.CompanyID)}
		}
	}
	if a.access.test && !company.IsTest() {
		var err error
		if company, err = a.enableTestMode(ctx, company); err != nil {
			return nil, err
		}
	}
	return a.dialAs(ctx, name, addr, company)
}

// dialAs opens a session with the service at addr for a company; the zero value means none.
func (a *app) dialAs(ctx context.Context, name, addr string, company id.Company) (*session, error) {
	if addr == "" {
		return nil, usageError{fmt.Errorf("no address of the %s service: use a credentials.json that has it, or give --%s", name, name)}
	}
	conn, err := a.connect(name, addr)
	if err != nil {
		return nil, err
	}
	return &session{conn: conn, ctx: rpc.As(ctx, token.NewSource(a.token), company)}, nil
}

// connect returns a connection to a service. It uses the certificate that the flags or the
// environment name.
func (a *app) connect(service, addr string) (*grpc.ClientConn, error) {
	cfg := a.access.tls
	for _, field := range []struct {
		to  *string
		env string
	}{
		{&cfg.CertFile, "GRPC_TLS_CERT_FILE"}, {&cfg.KeyFile, "GRPC_TLS_KEY_FILE"},
		{&cfg.CAFile, "GRPC_TLS_CA_FILE"}, {&cfg.TrustDomain, "GRPC_TLS_TRUST_DOMAIN"},
	} {
		if *field.to == "" {
			*field.to = os.Getenv(field.env)
		}
	}
	o := rpc.DialOptions{Part: service}
	if cfg.Enabled() {
		var err error
		if o.TLS, err = mtls.Open(cfg, slog.New(slog.DiscardHandler)); err != nil {
			return nil, usageError{err}
		}
	}
	return rpc.Dial(addr, o)
}

// tokenLifetime is the lifetime of the tokens that reservectl requests: long enough for a
// long import.
const tokenLifetime = 6 * time.Hour

// token returns a new token if credentials.json has a credential to request one, or else the
// token that was given.
func (a *app) token(ctx context.Context) (string, time.Time, error) {
	now := time.Now()
	c := a.access.GRPC.ServiceCredential
	if c.ID == "" {
		return a.access.GRPC.ServiceToken, now.Add(tokenLifetime), nil
	}
	conn, err := a.connect("auth", a.access.GRPC.Auth)
	if err != nil {
		return "", time.Time{}, err
	}
	defer conn.Close()
	res, err := authv1.NewTokenServiceClient(conn).IssueToken(ctx, &authv1.IssueTokenRequest{
		ClientId: c.ID, ClientSecret: c.Secret, LifetimeSeconds: int32(tokenLifetime / time.Second),
	})
	if err != nil {
		return "", time.Time{}, err
	}
	return res.GetAccessToken(), now.Add(time.Duration(res.GetExpiresIn()) * time.Second), nil
}

// open loads the access and opens a session with a service. addr points to the service's
// address in the access.
func (a *app) open(ctx context.Context, name string, addr *string) (*session, error) {
	if err := a.access.load(); err != nil {
		return nil, err
	}
	return a.dial(ctx, name, *addr)
}

func (a *app) auth(ctx context.Context) (*session, error) {
	return a.open(ctx, "auth", &a.access.GRPC.Auth)
}

func (a *app) customers(ctx context.Context) (*session, error) {
	return a.open(ctx, "customer", &a.access.GRPC.Customer)
}

func (a *app) bookings(ctx context.Context) (*session, error) {
	return a.open(ctx, "booking", &a.access.GRPC.Booking)
}

func (a *app) passes(ctx context.Context) (*session, error) {
	return a.open(ctx, "pass", &a.access.GRPC.Pass)
}

func (a *app) subscriptions(ctx context.Context) (*session, error) {
	return a.open(ctx, "subscription", &a.access.GRPC.Subscription)
}

func (a *app) media(ctx context.Context) (*session, error) {
	return a.open(ctx, "media", &a.access.GRPC.Media)
}

func (a *app) reports(ctx context.Context) (*session, error) {
	return a.open(ctx, "reports", &a.access.GRPC.Reports)
}

// withBookingsAndPasses runs f with sessions with both services.
func (a *app) withBookingsAndPasses(ctx context.Context, f func(bookings, passes *session) error) error {
	bookings, err := a.bookings(ctx)
	if err != nil {
		return err
	}
	defer bookings.close()
	passes, err := a.passes(ctx)
	if err != nil {
		return err
	}
	defer passes.close()
	return f(bookings, passes)
}

// stores are sessions with the services whose numbers verify compares.
type stores struct{ bookings, passes, subscriptions, customers, media, reports *session }

// withStores runs f with sessions with the services whose numbers verify compares.
func (a *app) withStores(ctx context.Context, f func(stores) error) (err error) {
	var s stores
	for _, one := range []struct {
		to   **session
		open opener
	}{
		{&s.bookings, a.bookings}, {&s.passes, a.passes}, {&s.subscriptions, a.subscriptions}, {&s.customers, a.customers},
		{&s.media, a.media}, {&s.reports, a.reports},
	} {
		if *one.to, err = one.open(ctx); err != nil {
			return err
		}
		defer (*one.to).close()
	}
	return f(s)
}

func (a *app) webhooks(ctx context.Context) (*session, error) {
	return a.open(ctx, "webhook", &a.access.GRPC.Webhook)
}

// platform opens a session with auth without a company. Auth refuses calls that concern the
// whole platform if they name a company.
func (a *app) platform(ctx context.Context) (*session, error) {
	if err := a.access.load(); err != nil {
		return nil, err
	}
	a.access.CompanyID = ""
	return a.dial(ctx, "auth", a.access.GRPC.Auth)
}

// forCompany wraps open so that it fails if no company is given.
func (a *app) forCompany(open opener) opener {
	return func(ctx context.Context) (*session, error) {
		if err := a.access.load(); err != nil {
			return nil, err
		}
		if _, err := a.company(); err != nil {
			return nil, err
		}
		return open(ctx)
	}
}

// company returns the company to act for, or an error if none is given.
func (a *app) company() (string, error) {
	if a.access.CompanyID == "" {
		return "", usageError{errors.New("--company is required (comp_…)")}
	}
	return a.access.CompanyID, nil
}
