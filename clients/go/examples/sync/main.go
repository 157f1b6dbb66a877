// Command sync writes all customers to standard output, one JSON object a line, or only those that have
// changed since the time in the environment variable SINCE.
package main

import (
	"context"
	"encoding/json"
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
	var filters b.ListCustomersParams
	if since, err := time.Parse(time.RFC3339, os.Getenv("SINCE")); err == nil {
		filters.UpdatedSince = &since
	}
	lines := json.NewEncoder(os.Stdout)
	for customer, err := range c.Customers(context.Background(), filters) {
		if err != nil {
			log.Fatal(err)
		}
		if err := lines.Encode(customer); err != nil {
			log.Fatal(err)
		}
	}
}
