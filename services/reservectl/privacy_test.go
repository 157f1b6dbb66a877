package reservectl

import (
	"strings"
	"testing"
)

func TestExportNamesTheUnavailableService(t *testing.T) {
	newWorld(t)
	r := run(t, "", "customer", "export", "cust_01jb4x9m3vf6ksn8w2d7pq5r0t", "--customer", "127.0.0.1:1")
	if r.code != 1 || r.out != "" || !strings.HasPrefix(r.errOut, "reservectl: customer: the service is temporarily unavailable") {
		t.Errorf("exit status %d, %q, %q", r.code, r.out, r.errOut)
	}
}
