package edge

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestCloseConnections(t *testing.T) {
	t.Parallel()
	leaving := make(chan struct{})
	srv := httptest.NewServer(CloseConnections(leaving, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })))
	defer srv.Close()
	closes := func() bool {
		t.Helper()
		res, err := srv.Client().Get(srv.URL)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		return res.Close
	}
	if closes() {
		t.Error("the connection is closed before the process starts to stop")
	}
	close(leaving)
	if !closes() {
		t.Error("the connection is kept after the process starts to stop")
	}
}
