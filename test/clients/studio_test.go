package clients

import (
	"bytes"
	"image"
	"image/png"
	"net/http"
	"testing"

	"reservation.dev/test/harness"
)

// studio makes data through Interface B that a scenario starts with.
type studio struct {
	t     *testing.T
	b     *harness.B
	token string
}

func newStudio(t *testing.T, c *harness.Credentials) studio {
	t.Helper()
	b := harness.NewB(t, c.InterfaceB.BaseURL)
	return studio{t, b, b.Token(t, harness.Credential{ID: c.InterfaceB.APIKey, Secret: c.InterfaceB.APISecret})}
}

// made is what a created resource says about itself.
type made struct{ ID, TransactionID, PartURL string }

func (s studio) create(path string, body object) (m made) {
	s.t.Helper()
	s.b.Do(s.t, harness.Request{Method: http.MethodPost, Path: path, Token: s.token, Body: jsonText(body)}).Into(s.t, http.StatusCreated, &m)
	return m
}

func (s studio) do(method, path string, body object) {
	s.t.Helper()
	var got object
	s.b.Do(s.t, harness.Request{Method: method, Path: path, Token: s.token, Body: jsonText(body)}).Into(s.t, http.StatusOK, &got)
}

// film creates a media item and an upload whose only part has arrived.
func (s studio) film() (item, upload string) {
	s.t.Helper()
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		s.t.Fatal(err)
	}
	item = s.create("/media", object{"title": "Poster", "kind": "image"}).ID
	u := s.create("/media/"+item+"/uploads", object{"fileName": "poster.png", "contentType": "image/png", "size": picture.Len()})
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPut, u.PartURL+"/1", &picture)
	if err != nil {
		s.t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	if res.Body.Close(); res.StatusCode >= http.StatusMultipleChoices {
		s.t.Fatalf("the part was answered with %s", res.Status)
	}
	return item, u.ID
}
