package edge

import "net/http"

// Leave serves h, and once leaving is closed asks with each answer that its
// connection be closed: a client that keeps one would be cut off in the middle of
// its next request. nil never is.
func Leave(leaving <-chan struct{}, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-leaving:
			w.Header().Set("Connection", "close")
		default:
		}
		h.ServeHTTP(w, r)
	})
}
