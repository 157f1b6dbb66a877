package webhook

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc"

	"reservation.dev/platform/id"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/tenancy"
	"reservation.dev/platform/token"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	"reservation.dev/services/webhook/message"
)

// Services are the other services, as far as messages need them.
type Services interface {
	// Customers returns up to 5000 customers by identifier, including deleted ones. Customers that
	// never existed are left out.
	Customers(ctx context.Context, company id.Company, customers []string) (map[string]message.Person, error)
	// Currency returns a company's currency.
	Currency(ctx context.Context, company id.Company) (string, error)
}

// clients calls the other services with the webhook service's own credential.
type clients struct {
	customers customerv1.CustomerServiceClient
	auth      tenancy.Auth
	source    *token.Source
	now       func() time.Time

	mu         sync.Mutex
	currencies map[id.Company]currency
}

// currency is a cached currency of a company. It hardly ever changes.
type currency struct {
	code  string
	until time.Time
}

// currencyKept is how long a currency is cached.
const currencyKept = time.Minute

// NewClients returns clients of the other services over connections, with tokens of source.
func NewClients(customerConn, authConn grpc.ClientConnInterface, source *token.Source) Services {
	return &clients{
		customers: customerv1.NewCustomerServiceClient(customerConn), auth: tenancy.NewAuth(authConn, source),
		source: source, now: time.Now, currencies: map[id.Company]currency{},
	}
}

func (c *clients) Customers(ctx context.Context, company id.Company, customers []string) (map[string]message.Person, error) {
	resp, err := c.customers.BatchGetCustomers(rpc.As(ctx, c.source, company), &customerv1.BatchGetCustomersRequest{Ids: customers, IncludeDeleted: true})
	if err != nil {
		return nil, rpc.OwnError("customer", err)
	}
	out := make(map[string]message.Person, len(resp.GetCustomers()))
	for _, p := range resp.GetCustomers() {
		out[p.GetId()] = message.Person{ID: p.GetId(), FirstName: p.GetFirstName(), LastName: p.GetLastName(), Email: p.GetEmail()}
	}
	return out, nil
}

func (c *clients) Currency(ctx context.Context, company id.Company) (string, error) {
	c.mu.Lock()
	cached := c.currencies[company]
	c.mu.Unlock()
	if c.now().Before(cached.until) {
		return cached.code, nil
	}
	record, err := c.auth.Company(ctx, company)
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.currencies[company] = currency{code: record.Currency, until: c.now().Add(currencyKept)}
	return record.Currency, nil
}
