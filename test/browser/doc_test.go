// Package browser tests the dashboard as an owner uses it: in Chromium, driven over its debugger
// protocol, with the whole platform in one process.
//
// TestDashboard does what an owner does in a day; its subtests share one platform and one browser.
// TestSlowPages checks every page in the dashboard's list of routes. Both tests are skipped if
// Chromium is not installed; deploy/install-chromium.sh installs Debian's. Without npm, accessibility
// is not checked, which is a failure if BROWSER_TESTS_NEED_AXE is set.
//
// # Invariants
//
//  1. Everything that the specification has an owner do in the dashboard works with a mouse and a
//     keyboard, and its results work on the interfaces.
//  2. It works without JavaScript as well, except uploads.
//  3. Every page fits a phone and a desktop window, light and dark, in several fonts and text
//     sizes that do not depend on the machine. It follows its content security policy, makes no
//     request to another site except for files of the media service, and transfers less than 150 kB.
//  4. Every page passes an accessibility checker's rules for WCAG A and AA, and every control
//     can be reached with the keyboard and shows its focus.
//  5. The documentation can be read by everybody: on a phone, dark and light, with and
//     without JavaScript (except the references). Search and the references work, and no
//     page makes a request to another server.
//  6. The timetable of docs/examples works on a phone, in every time zone, and over a clock change.
package browser

import (
	"testing"

	"reservation.dev/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
