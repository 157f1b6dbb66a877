package reservectl

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// restClient calls Interface A or B.
type restClient struct {
	base, token string
	client      *http.Client
}

func newRESTClient(base string) restClient {
	return restClient{base: base, client: &http.Client{Timeout: 15 * time.Second}}
}

// restInterface describes how one of the interfaces grants tokens, and the environment variables with
// its address and credentials.
type restInterface struct {
	path                      string
	id, secret                string // members of the request
	token, lifetime           string // members of the response
	baseEnv, idEnv, secretEnv string
}

// restInterfaces returns the interfaces by the values of --interface.
func restInterfaces() map[string]restInterface {
	return map[string]restInterface{
		"a": {
			path: "/token", id: "client_id", secret: "client_secret", token: "access_token", lifetime: "expires_in",
			baseEnv: "RESERVATION_A_URL", idEnv: "RESERVATION_CLIENT_ID", secretEnv: "RESERVATION_CLIENT_SECRET",
		},
		"b": {
			path: "/auth/token", id: "apiKey", secret: "apiSecret", token: "token", lifetime: "expiresIn",
			baseEnv: "RESERVATION_B_URL", idEnv: "RESERVATION_API_KEY", secretEnv: "RESERVATION_API_SECRET",
		},
	}
}

// grant is a token, and the number of seconds for which it is valid.
type grant struct {
	token    string
	lifetime int64
}

// grant exchanges credentials for a token.
func (c *restClient) grant(ctx context.Context, i restInterface, id, secret string) (grant, error) {
	var answer map[string]any
	if err := c.post(ctx, i.path, map[string]string{i.id: id, i.secret: secret}, &answer); err != nil {
		return grant{}, err
	}
	token, _ := answer[i.token].(string)
	lifetime, _ := answer[i.lifetime].(float64)
	if token == "" {
		return grant{}, fmt.Errorf("%s%s did not return a token", c.base, i.path)
	}
	return grant{token: token, lifetime: int64(lifetime)}, nil
}

func (c *restClient) get(ctx context.Context, path string, query url.Values, answer any) error {
	return c.do(ctx, http.MethodGet, path+"?"+query.Encode(), nil, answer)
}

func (c *restClient) post(ctx context.Context, path string, request, answer any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	return c.do(ctx, http.MethodPost, path, body, answer)
}

func (c *restClient) do(ctx context.Context, method, path string, body []byte, answer any) error {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	res, err := c.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, 16<<20))
	if err != nil {
		return err
	}
	if res.StatusCode/100 != 2 {
		var refused struct {
			Error struct{ Code, Message string } `json:"error"`
		}
		_ = json.Unmarshal(text, &refused) // without an error in the body, the message has only the status
		return fmt.Errorf("%s %s: %s: %s %s", method, path, res.Status, refused.Error.Code, refused.Error.Message)
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return nil
}
