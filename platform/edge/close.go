package edge

import "net/http"

// CloseConnections serves h. After leaving is closed, each response also closes its connection.
// Otherwise a client that reuses the connection could be cut off in the middle of its next request.
// A nil channel never closes.
func CloseConnections(leaving <-chan struct{}, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-leaving:
			w.Header().Set("Connection", "close")
		default:
		}
		h.ServeHTTP(w, r)
	})
}
