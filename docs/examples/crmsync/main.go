// Crmsync keeps a copy of a company's customers, registrations and customer passes in a JSON file. It reads the lists
// once, and then follows the webhook messages. It serves plain HTTP, so put a proxy with TLS in front of it.
//
//	B=https://…/api/v1 API_KEY=key_… API_SECRET=… WEBHOOK_SECRET=whsec_… ADDR=127.0.0.1:3000 COPY=copy.json go run .
//
// Webhooks bring the messages at once, but they can be lost, repeated or late. So when it starts and then every minute,
// the program also reads the list of messages, from the cursor that it stored with the copy.
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	catchUpEvery = time.Minute
	readAllEvery = 24 * time.Hour // finds what has no message: erased customers, passes that expire, new pass titles
)

// A message is the body of a webhook, and an item of the list of messages.
type message struct {
	Event string   `json:"event"`
	Test  bool     `json:"test"`
	Data  resource `json:"data"`
}

func main() {
	api := &client{base: os.Getenv("B"), key: os.Getenv("API_KEY"), secret: os.Getenv("API_SECRET")}
	c, err := load(os.Getenv("COPY"))
	if err != nil {
		log.Fatal(err)
	}
	webhooks := make(chan message, 1000)
	go func() {
		log.Fatal(http.ListenAndServe(os.Getenv("ADDR"), receiver(os.Getenv("WEBHOOK_SECRET"), webhooks)))
	}()
	log.Fatal(follow(api, c, webhooks))
}

// receiver verifies webhooks and queues them. If the queue is full it drops them: the list of messages has them too.
func receiver(secret string, queue chan<- message) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 5<<20))
		var m message
		if err != nil || !verify(r.Header, body, secret, time.Now()) || decode(body, &m) != nil {
			http.Error(w, "the webhook is not genuine", http.StatusUnauthorized)
			return
		}
		select {
		case queue <- m:
		default:
		}
		w.WriteHeader(http.StatusNoContent)
	})
}

// verify reports whether a webhook is genuine, by the rules of Standard Webhooks.
func verify(header http.Header, body []byte, secret string, now time.Time) bool {
	id, timestamp := header.Get("Webhook-Id"), header.Get("Webhook-Timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || id == "" || now.Sub(time.Unix(seconds, 0)).Abs() > 5*time.Minute {
		return false
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || len(key) == 0 {
		return false
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	return slices.ContainsFunc(strings.Fields(header.Get("Webhook-Signature")), func(got string) bool {
		return hmac.Equal([]byte(got), []byte(want))
	})
}

// follow keeps the copy up to date. Only its goroutine changes the copy, so a resource that it fetches is never older
// than the message that made it fetch.
func follow(api *client, c *dataCopy, webhooks <-chan message) error {
	for {
		if time.Since(c.ReadAt) > readAllEvery {
			if err := readAll(api, c); err != nil {
				return err
			}
		}
		if err := catchUp(api, c); err != nil {
			return err
		}
		if err := receive(api, c, webhooks); err != nil {
			return err
		}
	}
}

// receive applies webhooks until it is time to catch up. It saves whenever no webhook waits.
func receive(api *client, c *dataCopy, webhooks <-chan message) error {
	until := time.After(catchUpEvery)
	for {
		select {
		case <-until:
			return nil
		case m := <-webhooks:
			if err := apply(api, c, m); err != nil {
				return err
			}
			if len(webhooks) == 0 {
				if err := c.save(); err != nil {
					return err
				}
			}
		}
	}
}

// readAll replaces the copy with the lists. The messages from a minute before the start follow.
func readAll(api *client, c *dataCopy) error {
	start := time.Now()
	next := newCopy(c.path)
	for _, list := range []string{"customers", "registrations", "customer-passes"} {
		query := url.Values{"perPage": {"100"}}
		for {
			var page struct {
				Customers, Registrations, CustomerPasses []resource
				NextCursor                               string
			}
			if err := api.get("/"+list, query, &page); err != nil {
				return err
			}
			for _, item := range slices.Concat(page.Customers, page.Registrations, page.CustomerPasses) {
				next.Tables[list][item.text("id")] = item
			}
			if page.NextCursor == "" {
				break
			}
			query.Set("cursor", page.NextCursor)
		}
	}
	next.ReadAt, next.Since = start, start.Add(-time.Minute).UTC().Format(time.RFC3339)
	*c = *next
	return c.save()
}

// catchUp applies the messages that follow the stored cursor.
func catchUp(api *client, c *dataCopy) error {
	for {
		query := url.Values{"perPage": {"100"}, "since": {c.Since}}
		if c.Cursor != "" {
			query.Set("cursor", c.Cursor)
		}
		var page struct {
			WebhookMessages []message
			NextCursor      string
			HasMore         bool
		}
		if err := api.get("/webhook-messages", query, &page); err != nil {
			return err
		}
		for _, m := range page.WebhookMessages {
			if err := apply(api, c, m); err != nil {
				return err
			}
		}
		c.Cursor = page.NextCursor
		if err := c.save(); err != nil || !page.HasMore {
			return err
		}
	}
}
