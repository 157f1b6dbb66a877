// Command call creates a customer and reads it. It is an example of docs/GRPC.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// serviceConfig retries calls that fail with UNAVAILABLE. That is safe for writes too, because each
// write carries an idempotency key.
const serviceConfig = `{"loadBalancingConfig": [{"round_robin": {}}], "methodConfig": [{
	"name": [{"service": "reservation.customer.v1.CustomerService"}],
	"timeout": "5s",
	"retryPolicy": {"maxAttempts": 4, "initialBackoff": "0.1s", "maxBackoff": "2s", "backoffMultiplier": 2,
		"retryableStatusCodes": ["UNAVAILABLE"]}
}]}`

func main() {
	if err := run(context.Background(), os.Getenv("CUSTOMER"), os.Getenv("TOKEN")); err != nil {
		log.Fatal(explain(err))
	}
}

func run(ctx context.Context, addr, token string) error {
	conn, err := grpc.NewClient(addr,
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultServiceConfig(serviceConfig))
	if err != nil {
		return err
	}
	defer conn.Close()
	customers := customerv1.NewCustomerServiceClient(conn)

	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)

	once := metadata.AppendToOutgoingContext(ctx, "idempotency-key", "crm-import-4711")
	created, err := customers.CreateCustomer(once, &customerv1.CreateCustomerRequest{
		FirstName: "Zoë", LastName: "Martin", Email: "zoe@example.com",
	})
	if err != nil {
		return err
	}
	found, err := customers.GetCustomer(ctx, &customerv1.GetCustomerRequest{Id: created.GetCustomer().GetId()})
	if err != nil {
		return err
	}
	fmt.Println(found.GetCustomer().GetId(), found.GetCustomer().GetEmail())
	return nil
}

// explain adds the reason, by which programs decide, and the invalid fields to err's message.
func explain(err error) error {
	st := status.Convert(err)
	text := fmt.Sprintf("%s: %s", st.Code(), st.Message())
	for _, d := range st.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			text += fmt.Sprintf(" [%s]", d.GetReason())
		case *errdetails.BadRequest:
			for _, f := range d.GetFieldViolations() {
				text += fmt.Sprintf("; %s %s", f.GetField(), f.GetDescription())
			}
		}
	}
	return errors.New(text)
}
