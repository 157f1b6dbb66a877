package webhook

import (
	"context"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc"

	"reservation.dev/platform/id"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	"reservation.dev/services/webhook/message"
)

// Services are the other services, as messages need them.
type Services interface {
	// Customers returns those of up to 5000 customers that exist or did, by
	// identifier.
	Customers(ctx context.Context, company id.Company, customers []string) (map[string]message.Person, error)
	// Currency returns a company's currency.
	Currency(ctx context.Context, company id.Company) (string, error)
}

// clients asks the other services as ourselves.
type clients struct {
	customers customerv1.CustomerServiceClient
	companies authv1.CompanyServiceClient
	source    *token.Source
	now       func() time.Time

	mu         sync.Mutex
	currencies map[id.Company]currency
}

// currency is a company's, as it was asked for. It hardly ever changes.
type currency struct {
	code  string
	until time.Time
}

const currencyKept = time.Minute

// NewClients returns the other services over connections, with tokens of source.
func NewClients(customerConn, authConn grpc.ClientConnInterface, source *token.Source) Services {
	return &clients{
		customers: customerv1.NewCustomerServiceClient(customerConn), companies: authv1.NewCompanyServiceClient(authConn),
		source: source, now: time.Now, currencies: map[id.Company]currency{},
	}
}

func (c *clients) Customers(ctx context.Context, company id.Company, customers []string) (map[string]message.Person, error) {
	resp, err := c.customers.BatchGetCustomers(rpc.As(ctx, c.source, company), &customerv1.BatchGetCustomersRequest{Ids: customers, IncludeDeleted: true})
	if err != nil {
		return nil, fmt.Errorf("customer service: %w", err)
	}
	out := make(map[string]message.Person, len(resp.GetCustomers()))
	for _, p := range resp.GetCustomers() {
		out[p.GetId()] = message.Person{ID: p.GetId(), FirstName: p.GetFirstName(), LastName: p.GetLastName(), Email: p.GetEmail()}
	}
	return out, nil
}

func (c *clients) Currency(ctx context.Context, company id.Company) (string, error) {
	c.mu.Lock()
	known := c.currencies[company]
	c.mu.Unlock()
	if c.now().Before(known.until) {
		return known.code, nil
	}
	resp, err := c.companies.GetCompany(rpc.As(ctx, c.source, company), &authv1.GetCompanyRequest{Id: company.String()})
	if err != nil {
		return "", fmt.Errorf("auth service: %w", err)
	}
	known = currency{code: resp.GetCompany().GetCurrency(), until: c.now().Add(currencyKept)}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.currencies[company] = known
	return known.code, nil
}
