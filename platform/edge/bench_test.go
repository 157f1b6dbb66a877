package edge

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// BenchmarkResponse measures the processor time of the edge for a response. The digest and the
// compression are included.
func BenchmarkResponse(b *testing.B) {
	item := func(i int) string {
		return fmt.Sprintf(`{"id":"cust_01m832zwm9fcc8rh23prmp%04d","firstName":"Ada","lastName":"Lovelace %d","email":"ada%d@example.com","createdAt":"2026-11-23T02:%02d:%02dZ"},`, i, i*7919%9973, i, i/60%60, i%60)
	}
	var long strings.Builder
	for i := 0; long.Len() < 100_000; i++ {
		long.WriteString(item(i))
	}
	for name, body := range map[string]string{"small": item(1), "100kB": long.String()} {
		for _, coding := range []string{"identity", codingGzip, codingZstd} {
			b.Run(name+"/"+coding, func(b *testing.B) {
				e := serveThing(b, Route{Method: http.MethodGet}, func(w http.ResponseWriter, r *http.Request) {
					Tag(r.Context(), thing(7))
					w.Header().Set("Content-Length", fmt.Sprint(len(body)))
					_, _ = w.Write([]byte(body))
				})
				r := httptest.NewRequest(http.MethodGet, "/thing", nil)
				r.Header = http.Header{"Authorization": {"Bearer x"}, "Accept-Encoding": {coding}}
				h, sent := e.Handler(), 0
				b.ReportAllocs()
				for b.Loop() {
					w := httptest.NewRecorder()
					h.ServeHTTP(w, r.Clone(b.Context()))
					sent = w.Body.Len()
				}
				b.ReportMetric(float64(sent), "bytes/response")
			})
		}
	}
}
