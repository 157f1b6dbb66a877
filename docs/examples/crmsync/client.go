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
		response, body, err := c.send(path, query)
		if err != nil {
			response = &http.Response{StatusCode: http.StatusServiceUnavailable}
		}
		switch status := response.StatusCode; {
		case status == http.StatusOK:
			return decode(body, result)
		case status == http.StatusNotFound:
			return errNotFound
		case status == http.StatusUnauthorized && c.token != "" && attempt == 0:
			c.token = "" // it has expired
			continue
		case status < 500 && status != http.StatusTooManyRequests:
			return fmt.Errorf("GET %s: %s: %s", path, response.Status, body)
		}
		seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
		wait := time.Duration(max(seconds, 1<<min(attempt, 6))) * time.Second
		log.Printf("GET %s: %s %v; the next attempt follows in %s", path, response.Status, err, wait)
		time.Sleep(wait)
	}
}

// send sends the request once. If there is no token, it requests one first.
func (c *client) send(path string, query url.Values) (*http.Response, []byte, error) {
	if c.token == "" {
		response, body, err := c.do(http.MethodPost, "/auth/token", fmt.Sprintf(`{"apiKey":%q,"apiSecret":%q}`, c.key, c.secret))
		if err != nil || response.StatusCode != http.StatusOK {
			return response, body, err
		}
		var answer struct{ Token string }
		if err := decode(body, &answer); err != nil {
			return nil, nil, err
		}
		c.token = answer.Token
	}
	return c.do(http.MethodGet, path+"?"+query.Encode(), "")
}

func (c *client) do(method, path, body string) (*http.Response, []byte, error) {
	request, err := http.NewRequest(method, c.base+path, strings.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	response, err := (&http.Client{Timeout: 30 * time.Second}).Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response, text, err
}
