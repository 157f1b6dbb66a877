// A receiver of webhooks. It serves plain HTTP, so put a proxy with TLS in front of it.
//
//	WEBHOOK_SECRETS=whsec_… ADDR=127.0.0.1:3000 go run main.go verify.go
package main

import (
	"encoding/json"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

type envelope struct {
	ID    string          `json:"id"`
	Event string          `json:"event"`
	Test  bool            `json:"test"`
	Data  json.RawMessage `json:"data"`
}

func main() {
	secrets := strings.Fields(os.Getenv("WEBHOOK_SECRETS"))
	var seen sync.Map // keep these in your database, in the transaction that does the work
	log.Fatal(http.ListenAndServe(os.Getenv("ADDR"), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil {
			http.Error(w, "cannot read the body", http.StatusBadRequest)
			return
		}
		if err := VerifyToken(r.Header, body, secrets, time.Now()); err != nil {
			http.Error(w, "the signature is not valid", http.StatusUnauthorized)
			return
		}
		var e envelope
		if err := json.Unmarshal(body, &e); err != nil {
			http.Error(w, "the body is not JSON", http.StatusBadRequest)
			return
		}
		if _, again := seen.LoadOrStore(e.ID, true); !again && !e.Test {
			log.Printf("%s %s", e.Event, e.Data) // put it in a queue: answer first, work later
		}
		w.WriteHeader(http.StatusNoContent)
	})))
}
