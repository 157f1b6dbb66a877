package reservectl

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// gateway is a fake of an interface that grants tokens to one credential.
func gateway(t *testing.T) (url string) {
	t.Helper()
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, r *http.Request, id, secret, answer string) {
		var body map[string]string
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		if body[id] != "id-1" || body[secret] != "s3cret" {
			w.WriteHeader(http.StatusUnauthorized)
			answer = `{"error":{"code":"INVALID_CREDENTIALS","message":"the credentials are not valid"}}`
		}
		_, _ = w.Write([]byte(answer))
	}
	mux.HandleFunc("POST /a/token", func(w http.ResponseWriter, r *http.Request) {
		answer(w, r, "client_id", "client_secret", `{"access_token":"token-a","token_type":"Bearer","expires_in":3600}`)
	})
	mux.HandleFunc("POST /b/auth/token", func(w http.ResponseWriter, r *http.Request) {
		answer(w, r, "apiKey", "apiSecret", `{"token":"token-b","expiresIn":3599}`)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

func TestToken(t *testing.T) {
	w, url := newWorld(t), gateway(t)
	file := w.write(t, "interfaces.json", `{"interface_a":{"base_url":"`+url+`/a","client_id":"id-1","client_secret":"s3cret"},
		"interface_b":{"api_base_url":"`+url+`/b","api_key":"id-1","api_secret":"s3cret"}}`)
	t.Setenv("RESERVATION_CREDENTIALS", "")
	environment := map[string]string{"RESERVATION_B_URL": url + "/b", "RESERVATION_API_KEY": "id-1", "RESERVATION_API_SECRET": "s3cret"}
	for _, tt := range []struct {
		name, args string
		env        map[string]string
		code       int
		want       string // standard output, or a part of the error
	}{
		{"of Interface B from credentials.json", "--credentials " + file, nil, 0, "token-b\n"},
		{"of Interface A from credentials.json", "--interface a --credentials " + file, nil, 0, "token-a\n"},
		{"from flags", "--base-url " + url + "/b --id id-1 --secret s3cret", nil, 0, "token-b\n"},
		{"from the environment", "", environment, 0, "token-b\n"},
		{"from the environment rather than credentials.json", "--credentials " + file, map[string]string{"RESERVATION_API_KEY": "id-2", "RESERVATION_API_SECRET": "x"}, 1, "INVALID_CREDENTIALS"},
		{"with its lifetime as JSON", "-o json --credentials " + file, nil, 0, "{\n  \"token\": \"token-b\",\n  \"expires_in\": 3599\n}\n"},
		{"not with the secret of another id", "--id id-2 --credentials " + file, nil, 2, "--secret is required, or RESERVATION_API_SECRET"},
		{"not without credentials", "--interface a", environment, 2, "--base-url is required, or RESERVATION_A_URL"},
		{"not of another interface", "--interface c", nil, 2, "--interface must be a or b"},
		{"not in another format", "-o xml --credentials " + file, nil, 2, "json, table or auto"},
	} {
		t.Run("prints a token "+tt.name, func(t *testing.T) {
			for name, value := range tt.env {
				t.Setenv(name, value)
			}
			r := run(t, "", append([]string{"token"}, strings.Fields(tt.args)...)...)
			if r.code != tt.code || tt.code == 0 && r.out != tt.want || tt.code != 0 && (!strings.Contains(r.errOut, tt.want) || r.out != "") {
				t.Errorf("exit status %d, %q, %q", r.code, r.out, r.errOut)
			}
		})
	}
}
