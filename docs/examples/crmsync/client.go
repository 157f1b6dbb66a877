package main

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

var errNotFound = errors.New("not found")

// A client reads Interface B.
type client struct {
	base, key, secret, token string
}

// get decodes the response to a GET request. It repeats the request after 429, after 5xx and if there is no response.
func (c *client) get(path string, query url.Values, result any) error {
	for attempt := 0; ; attempt++ {
		a, err := c.send(path, query)
		if err != nil {
			a.status = http.StatusServiceUnavailable
		}
		switch status := a.status; {
		case status == http.StatusOK:
			return decode(a.body, result)
		case status == http.StatusNotFound:
			return errNotFound
		case status == http.StatusUnauthorized && c.token != "" && attempt == 0:
			c.token = "" // it has expired
			continue
		case status < 500 && status != http.StatusTooManyRequests:
			return fmt.Errorf("GET %s: %d: %s", path, status, a.body)
		}
		wait := time.Duration(max(a.retryAfter, 1<<min(attempt, 6))) * time.Second
		log.Printf("GET %s: %d %v; the next attempt follows in %s", path, a.status, err, wait)
		time.Sleep(wait)
	}
}

// An answer is a response whose body has been read.
type answer struct {
	status     int
	retryAfter int // seconds
	body       []byte
}

// send sends the request once. If there is no token, it requests one first.
func (c *client) send(path string, query url.Values) (answer, error) {
	if c.token == "" {
		a, err := c.do(http.MethodPost, "/auth/token", fmt.Sprintf(`{"apiKey":%q,"apiSecret":%q}`, c.key, c.secret))
		if err != nil || a.status != http.StatusOK {
			return a, err
		}
		var issued struct{ Token string }
		if err := decode(a.body, &issued); err != nil {
			return answer{}, err
		}
		c.token = issued.Token
	}
	return c.do(http.MethodGet, path+"?"+query.Encode(), "")
}

func (c *client) do(method, path, body string) (answer, error) {
	request, err := http.NewRequest(method, c.base+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	response, err := (&http.Client{Timeout: 30 * time.Second}).Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	a := answer{status: response.StatusCode}
	a.retryAfter, _ = strconv.Atoi(response.Header.Get("Retry-After"))
	a.body, err = io.ReadAll(response.Body)
	return a, err
}
