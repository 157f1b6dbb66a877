package admin

import (
	"net/http"

	"reservation.dev/docs/site"
)

// mountDocs serves the documentation at /docs, for everybody: it needs no sign-in.
func (web *web) mountDocs() error {
	docs, err := site.New(site.Options{
		Origin:     web.origin.Scheme + "://" + web.origin.Host,
		InterfaceA: web.cfg.InterfaceA, InterfaceB: web.cfg.InterfaceB,
	})
	if err != nil {
		return err
	}
	serve := func(w http.ResponseWriter, r *http.Request) {
		if rec, ok := w.(*recorder); ok {
			rec.route = "/docs/"
		}
		docs.ServeHTTP(w, r)
	}
	web.mux.HandleFunc("/docs", serve)
	web.mux.HandleFunc("/docs/", serve)
	return nil
}
