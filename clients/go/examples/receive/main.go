// Command receive receives webhooks on the port in the environment variable PORT, and prints the bookings.
// SECRETS has the signing secrets of the endpoint, separated by commas: two while one is rotated.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"time"

	"reservation.dev/client/webhook"
)

func main() {
	secrets := strings.Split(os.Getenv("SECRETS"), ",")
	http.HandleFunc("POST /", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil {
			return
		}
		m, err := webhook.Verify(r.Header, body, secrets, time.Now())
		if err != nil {
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
		if err := handle(m, body); err != nil {
			http.Error(w, "try again", http.StatusInternalServerError)
		}
	})
	server := &http.Server{Addr: "127.0.0.1:" + os.Getenv("PORT"), ReadTimeout: 10 * time.Second}
	log.Fatal(server.ListenAndServe())
}

// handle acts on a message. A real receiver stores it under its ID, and ignores an ID that it has.
func handle(m *webhook.Message, body []byte) error {
	if m.Test || m.Event != "registration.created" {
		return nil
	}
	var created webhook.RegistrationCreated
	if err := json.Unmarshal(body, &created); err != nil {
		return err
	}
	fmt.Println("received", m.ID, created.Data.RegistrationID, created.Data.EventTitle)
	return nil
}
