// Command book creates a customer and books the next class that has a free spot.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"reservation.dev/client"
	"reservation.dev/client/b"
)

func main() {
	c, err := client.NewB(os.Getenv("B"), os.Getenv("API_KEY"), os.Getenv("API_SECRET"), client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	if err := book(context.Background(), c); err != nil {
		log.Fatal(err)
	}
}

func book(ctx context.Context, c *client.B) error {
	customer, err := c.CreateCustomerWithResponse(ctx, nil, b.CustomerWrite{
		FirstName: client.Ptr("Zoë"), LastName: client.Ptr("Núñez"), Email: client.Ptr("zoe@example.com"),
	})
	if err != nil {
		return err
	}
	dates := b.ListEventDatesParams{StartsFrom: client.Ptr(time.Now()), Type: client.Ptr(b.EventTypeClass), Available: client.Ptr(true)}
	for date, err := range c.EventDates(ctx, dates) {
		if err != nil {
			return err
		}
		order, err := c.CreateTransactionWithResponse(ctx, nil, b.TransactionWrite{
			PurchasedByID: customer.JSON201.ID,
			Lines:         []b.LineWrite{{EventDateID: &date.ID}},
			Payment:       &b.PaymentWrite{Method: client.Ptr(b.PaymentWriteMethodCARD), Reference: client.Ptr("pi_1")},
		})
		if client.CodeOf(err) == "EVENT_FULL" { // somebody else was faster
			continue
		}
		if err != nil {
			return err
		}
		fmt.Println("booked", date.Title, date.StartsAt, order.JSON201.Registrations[0].ID)
		return nil
	}
	return errors.New("no class has a free spot")
}
