package additions

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"reservation.dev/test/harness"
)

const curlType = "application/x-www-form-urlencoded"

func testBodies(t *testing.T, p *platform) {
	c := p.newCaller(t)
	ada := object{"firstName": "Ada", "lastName": "Byron", "email": "ada@example.com"}

	t.Run("JSON is read without a Content-Type, and with the one that curl sends", func(t *testing.T) {
		for _, media := range []string{"none", curlType, "application/json; charset=utf-8"} {
			c.Send(t, 201, post, "/customers", ada, "Content-Type", media)
		}
		for _, media := range []string{"none", curlType} {
			c.As("").Refused(t, 401, "INVALID_CREDENTIALS", post, "/auth/token", object{"apiKey": "key_1", "apiSecret": "wrong"}, "Content-Type", media)
		}
		for _, media := range []string{"text/plain", "application/xml", "multipart/form-data; boundary=x"} {
			c.Refused(t, 415, "UNSUPPORTED_MEDIA_TYPE", post, "/customers", ada, "Content-Type", media)
		}
		c.Refused(t, 400, "INVALID_JSON", post, "/customers", "firstName=Ada", "Content-Type", curlType)
	})
	t.Run("a refusal lists at most 50 faults and counts the rest", func(t *testing.T) {
		for _, faults := range []int{1, 50, 120} {
			dates := make([]object, faults)
			for i := range dates {
				dates[i] = object{"startsAt": fmt.Sprint("nonsense ", i), "duration": 60}
			}
			refusal := c.Read(t, 400, post, "/events", object{"title": "Clay", "dates": dates})
			has(t, refusal, object{"error.code": "VALIDATION_ERROR", "error.details.field": "dates[0].startsAt", "error.details.rule": "format"})
			more, _ := at(refusal, "error.details.more").(float64)
			if listed := len(at(refusal, "error.details.errors").([]any)); listed > 50 || listed+int(more) != faults {
				t.Errorf("%d faults: %d are listed, and %v more", faults, listed, more)
			}
		}
	})
	t.Run("answers are compressed on request", func(t *testing.T) {
		for range 20 {
			c.Send(t, 201, post, "/customers", ada)
		}
		want := c.Send(t, 200, get, "/customers", nil)
		for coding, decompress := range map[string]func(io.Reader) (io.Reader, error){
			"gzip": func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
			"zstd": func(r io.Reader) (io.Reader, error) { return zstd.NewReader(r) },
		} {
			answer := raw(t, p.Credentials.InterfaceB.BaseURL+"/customers", "Authorization", "Bearer "+c.Token, "Accept-Encoding", coding)
			if got := answer.Header.Get("Content-Encoding"); got != coding || !strings.Contains(answer.Header.Get("Vary"), "Accept-Encoding") {
				t.Fatalf("%s: Content-Encoding is %q, Vary %q", coding, got, answer.Header.Get("Vary"))
			}
			body, err := decompress(bytes.NewReader(answer.Body))
			if err != nil {
				t.Fatal(err)
			}
			if text, err := io.ReadAll(body); err != nil || !bytes.Equal(text, want.Body) || len(answer.Body) >= len(text) {
				t.Errorf("%s: %d bytes for %d, %v", coding, len(answer.Body), len(text), err)
			}
		}
		if got := want.Header.Get("Content-Encoding"); got != "" {
			t.Errorf("without Accept-Encoding, Content-Encoding is %q", got)
		}
	})
	for face, base := range map[string]string{"A": p.Credentials.InterfaceA.BaseURL, "B": p.Credentials.InterfaceB.BaseURL} {
		t.Run("/openapi.json of Interface "+face, func(t *testing.T) { testDescription(t, base) })
	}
}

// testDescription checks what the description says about permissions and unknown members.
func testDescription(t *testing.T, base string) {
	answer := raw(t, base+"/openapi.json")
	answer.Into(t, 200, nil)
	description := decode(t, answer)
	for at, operations := range description["paths"].(object) {
		for method, operation := range operations.(object) {
			o, ok := operation.(object)
			if !ok || o["operationId"] == nil || strings.HasSuffix(at, "/token") {
				continue
			}
			if !strings.Contains(fmt.Sprint(o["security"]), ":read]") && !strings.Contains(fmt.Sprint(o["security"]), ":write]") {
				t.Errorf("%s %s names no permission: %v", method, at, o["security"])
			}
			for status, response := range o["responses"].(object) {
				if strings.Contains(fmt.Sprint(response), "additionalProperties:false") {
					t.Errorf("%s %s: the response %s refuses unknown members", method, at, status)
				}
			}
		}
	}
}

// raw makes a GET that is not in the description, or not as it is described.
func raw(t *testing.T, url string, pairs ...string) harness.Answer {
	t.Helper()
	r := harness.Request{Method: get, Header: http.Header{}}
	for i := 0; i+1 < len(pairs); i += 2 {
		r.Header.Set(pairs[i], pairs[i+1])
	}
	return harness.NewA(t, url).Do(t, r)
}
