package reservectl

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

func TestTestMode(t *testing.T) { // invariant 7
	w := newRPCWorld(t)
	live, err := id.Parse[id.Company](companyID)
	if err != nil {
		t.Fatal(err)
	}
	test := live.Test().String()
	// calls returns the companies of all requests, by method, and forgets the requests.
	calls := func() (all []string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, r := range w.requests {
			all = append(all, r.method[strings.LastIndexByte(r.method, '/')+1:]+" "+r.company)
		}
		w.requests = nil
		return all
	}
	for _, tt := range []struct {
		name, line string
		want       []string
	}{
		{"--test enables the test mode, and then acts in it", "key create --name Site --test", []string{"EnableTestMode " + live.String(), "CreateApiKey " + test}},
		{"it enables the test mode once", "customer list --test --limit 0", []string{"EnableTestMode " + live.String(), "ListCustomers " + test}},
		{"the commands of the test mode need no --test", "test-mode clock", []string{"EnableTestMode " + live.String(), "GetTestClock " + test}},
		{"without --test, commands act in live mode", "key create --name Site", []string{"CreateApiKey " + live.String()}},
		{"a company in test mode needs no --test", "key create --name Site --company " + test, []string{"CreateApiKey " + test}},
		{"--test changes nothing for a company in test mode", "key create --name Site --test --company " + test, []string{"CreateApiKey " + test}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args := with(tt.line)
			if strings.Contains(tt.line, "--company") { // the last one counts
				args = append(args, "--company", test)
			}
			ok(t, args...)
			if got := calls(); strings.Join(got, ", ") != strings.Join(tt.want, ", ") {
				t.Errorf("called %v, want %v", got, tt.want)
			}
		})
	}
	t.Run("nothing is changed if the test mode cannot be enabled", func(t *testing.T) {
		w.answer = func(string, proto.Message) (proto.Message, error) { return nil, fault.MissingScope("company:write") }
		r := run(t, "", with("key create --name Site --test")...)
		if got := calls(); r.code != exitFailed || !strings.Contains(r.errOut, "company:write") || len(got) != 1 {
			t.Errorf("%+v after %v", r, got)
		}
	})
	t.Run("what belongs to the platform has no test mode", func(t *testing.T) {
		r := run(t, "", with("credential list --platform --test")...)
		if got := calls(); r.code != exitUsage || !strings.Contains(r.errOut, "the test mode belongs to a company") || len(got) != 0 {
			t.Errorf("%+v after %v", r, got)
		}
	})
	for _, line := range []string{"company list --test", "token --test", "seed --test", "signing-key list --test", "admin list --test"} {
		t.Run(line+" is refused", func(t *testing.T) {
			if r := run(t, "", with(line)...); r.code != exitUsage || !strings.Contains(r.errOut, "unknown flag: --test") {
				t.Errorf("%+v", r)
			}
		})
	}
}
