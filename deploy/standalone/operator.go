package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"

	"reservation.dev/devkit/credentials"
	"reservation.dev/devkit/demonstration"
	"reservation.dev/platform/id"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// operatorClient calls the services as the platform's operator.
type operatorClient struct {
	in    *instance
	conns []*grpc.ClientConn

	tokens authv1.TokenServiceClient
	demo   *demonstration.Platform
}

func dialOperator(in *instance) (*operatorClient, error) {
	op := &operatorClient{in: in}
	dial := func(port int) *grpc.ClientConn {
		conn, err := rpc.Dial(in.settings.addr(port), rpc.DialOptions{})
		if err != nil { // reported below
			return nil
		}
		op.conns = append(op.conns, conn)
		return conn
	}
	auth := dial(portAuth)
	services := demonstration.Services{
		Auth: auth, Customer: dial(portCustomer), Booking: dial(portBooking), Pass: dial(portPass),
		Subscription: dial(portSubscription), Media: dial(portMedia), MediaURL: "http://" + in.settings.addr(portMediaFiles),
	}
	if len(op.conns) < 6 {
		op.Close()
		return nil, errors.New("the services' addresses are not valid")
	}
	op.tokens = authv1.NewTokenServiceClient(auth)
	op.demo = demonstration.On(services, op.as)
	return op, nil
}

// Close closes the connections.
func (op *operatorClient) Close() {
	for _, conn := range op.conns {
		_ = conn.Close()
	}
}

// seedDemonstration creates the demonstration company unless it exists.
func (op *operatorClient) seedDemonstration(ctx context.Context) error {
	st := op.in.state
	if st.Demo == nil {
		st.Demo = &demonstration.State{}
	}
	return op.demo.Seed(ctx, st.Demo, st.save)
}

// token fetches a token of the operator that is bound to a company; "": to none.
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

// as returns a context for calls of the operator for a company; "": for none.
func (op *operatorClient) as(ctx context.Context, company string) context.Context {
	return rpc.As(ctx, token.NewSource(func(ctx context.Context) (string, time.Time, error) {
		raw, err := op.token(ctx, company)
		return raw, time.Now().Add(tokenLifetime), err
	}), id.Company{})
}

// credentials returns the contents of credentials.json, with a new token.
func (op *operatorClient) credentials(ctx context.Context) (credentials.File, error) {
	s := op.in.settings
	c := credentials.File{
		InterfaceA: credentials.InterfaceA{BaseURL: "http://" + s.addr(portA)},
		InterfaceB: credentials.InterfaceB{APIBaseURL: "http://" + s.addr(portB) + "/api/v1"},
		GRPC: credentials.GRPC{
			Auth: s.addr(portAuth), Customer: s.addr(portCustomer), Booking: s.addr(portBooking), Pass: s.addr(portPass),
			Subscription: s.addr(portSubscription), Media: s.addr(portMedia), Reports: s.addr(portReports), Webhook: s.addr(portWebhook),
			ServiceCredential: op.in.state.Credentials[operator],
		},
		Media:     credentials.Media{BaseURL: op.in.mediaURL()},
		Admin:     credentials.Admin{URL: op.in.dashboardURL()},
		AdminPort: s.addr(portAdmin),
	}
	if op.in.env["WEBHOOK_CA_FILE"] == "" {
		c.Webhooks.CAFile = s.localCA()
	}
	if demo := op.in.state.Demo; demo != nil {
		demo.Show(&c)
	}
	var err error
	c.GRPC.ServiceToken, err = op.token(ctx, c.CompanyID)
	return c, err
}
