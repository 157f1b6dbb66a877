package harness

import (
	"regexp"
	"strings"
	"testing"
)

// StartAddress is the address of Interface B on the start pages, docs/START_*.md.
const StartAddress = "http://127.0.0.1:8081/api/v1"

// startShell makes a script fail if a command fails or gets an error response.
const startShell = `set -eu -o pipefail
curl() { command curl --fail-with-body --max-time 60 "$@"; }
`

// startCheck waits for the webhook of the booking, with the page's function call.
const startCheck = `
for try in $(seq 180); do
	if call '/webhook-messages?event=registration.created' | grep '"registrationId":"reg_' >/dev/null; then exit; fi
	sleep 1
done
echo "the booking has no webhook" >&2
exit 1
`

var startBlock = regexp.MustCompile("(?ms)^```sh\n(.*?)^```\n")

// StartScript returns the commands of a start page for bash, with the address of Interface B. The
// script fails if a command fails, or if the booking is not confirmed or has no webhook. It prints
// the booking.
func StartScript(t testing.TB, page, address string) string {
	t.Helper()
	var script strings.Builder
	for _, m := range startBlock.FindAllStringSubmatch(File(t, page), -1) {
		script.WriteString(m[1])
	}
	if !strings.Contains(script.String(), StartAddress) {
		t.Fatalf("the commands of %s do not call %s", page, StartAddress)
	}
	return startShell + strings.ReplaceAll(script.String(), StartAddress, address) + startCheck
}
