package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"

	"reservation.dev/platform/id"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// operatorClient calls the services as the platform's operator.
type operatorClient struct {
	in    *instance
	conns []*grpc.ClientConn

	tokens    authv1.TokenServiceClient
	companies authv1.CompanyServiceClient
	clients   authv1.ApiClientServiceClient
	keys      authv1.ApiKeyServiceClient
	admins    authv1.AdministratorServiceClient
	customers customerv1.CustomerServiceClient
	events    bookingv1.EventServiceClient
	bookings  bookingv1.BookingServiceClient
	passes    passv1.PassServiceClient
}

func dialOperator(in *instance) (*operatorClient, error) {
	op := &operatorClient{in: in}
	dial := func(port int) *grpc.ClientConn {
		conn, err := rpc.Dial(in.settings.addr(port), rpc.DialOptions{})
		if err != nil { // the address is one that the part listens on
			return nil
		}
		op.conns = append(op.conns, conn)
		return conn
	}
	auth, customer, booking, pass := dial(portAuth), dial(portCustomer), dial(portBooking), dial(portPass)
	if len(op.conns) < 4 {
		op.Close()
		return nil, errors.New("the services' addresses are not valid")
	}
	op.tokens = authv1.NewTokenServiceClient(auth)
	op.companies = authv1.NewCompanyServiceClient(auth)
	op.clients = authv1.NewApiClientServiceClient(auth)
	op.keys = authv1.NewApiKeyServiceClient(auth)
	op.admins = authv1.NewAdministratorServiceClient(auth)
	op.customers = customerv1.NewCustomerServiceClient(customer)
	op.events = bookingv1.NewEventServiceClient(booking)
	op.bookings = bookingv1.NewBookingServiceClient(booking)
	op.passes = passv1.NewPassServiceClient(pass)
	return op, nil
}

// Close ends the connections.
func (op *operatorClient) Close() {
	for _, conn := range op.conns {
		_ = conn.Close()
	}
}

// token gets a token of the operator that speaks for a company; "": for none.
func (op *operatorClient) token(ctx context.Context, company string) (string, error) {
	c := op.in.state.Credentials[operator]
	res, err := op.tokens.IssueToken(ctx, &authv1.IssueTokenRequest{
		ClientId: c.ID, ClientSecret: c.Secret, CompanyId: company, LifetimeSeconds: int32(tokenLifetime / time.Second),
	})
	if err != nil {
		return "", fmt.Errorf("the operator's token: %w", err)
	}
	return res.GetAccessToken(), nil
}

// as returns a context whose calls the operator makes for a company; "": for none.
func (op *operatorClient) as(ctx context.Context, company string) context.Context {
	return rpc.As(ctx, token.NewSource(func(ctx context.Context) (string, time.Time, error) {
		raw, err := op.token(ctx, company)
		return raw, time.Now().Add(tokenLifetime), err
	}), id.Company{})
}

// credentials returns what credentials.json holds, with a fresh token.
func (op *operatorClient) credentials(ctx context.Context) (credentials, error) {
	s := op.in.settings
	c := credentials{
		InterfaceA: interfaceA{BaseURL: "http://" + s.addr(portA)},
		InterfaceB: interfaceB{APIBaseURL: "http://" + s.addr(portB) + "/api/v1"},
		GRPC: grpcAccess{
			Auth: s.addr(portAuth), Customer: s.addr(portCustomer), Booking: s.addr(portBooking), Pass: s.addr(portPass),
			Webhook:           s.addr(portWebhook),
			ServiceCredential: op.in.state.Credentials[operator],
		},
		Admin:     adminAccess{URL: op.in.dashboardURL()},
		AdminPort: s.addr(portAdmin),
	}
	if demo := op.in.state.Demo; demo != nil {
		c.CompanyID = demo.CompanyID
		c.InterfaceA.ClientID, c.InterfaceA.ClientSecret = demo.ClientID, demo.ClientSecret
		c.InterfaceB.APIKey, c.InterfaceB.APISecret = demo.APIKey, demo.APISecret
	}
	if demo := op.in.state.Demo; demo != nil && demo.OwnerMade {
		c.Admin.Email, c.Admin.Password = demo.OwnerEmail, demo.OwnerPassword
	}
	var err error
	c.GRPC.ServiceToken, err = op.token(ctx, c.CompanyID)
	return c, err
}
