package customer

import (
	"strings"
	"testing"
)

func TestExportPanics(t *testing.T) { // invariant 4
	d := open(t)
	d.importN("r", 3)
	t.Run("while it renders, it ends with an error and the process goes on", func(t *testing.T) {
		e := &export{server: d.server, company: d.company} // without a shape
		var failures []error
		for c := range e.chunks(t.Context()) {
			failures = append(failures, c.err)
		}
		if len(failures) != 1 || failures[0] == nil || !strings.Contains(failures[0].Error(), "export.go") {
			t.Errorf("got %v, want one error that says where", failures)
		}
		if len(d.server.bulk) != 0 {
			t.Error("it keeps its place among those who use the database in bulk")
		}
	})
}
