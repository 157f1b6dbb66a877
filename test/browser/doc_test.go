// Package browser uses the dashboard as an owner does: in a real browser
// (Chromium, driven over its debugger protocol), against the whole platform in
// one process.
//
// TestDashboard is an owner's day; its subtests share one platform and one browser.
// TestSlowPages looks at every page. Both are skipped, with the reason, where there is
// no Chromium: deploy/install-chromium.sh installs Debian's. Without npm accessibility
// is not checked, which is a failure where BROWSER_TESTS_NEED_AXE is set.
//
// # Invariants
//
//  1. What the specification has an owner do in the dashboard works with a
//     mouse and a keyboard, and what comes out of it works on the interfaces.
//  2. It works without JavaScript too.
//  3. Every main page fits a phone and a desk, light and dark, in several fonts and
//     sizes of text, none of which are the machine's; breaks no rule of
//     its content security policy; asks nobody else for anything; and transfers
//     less than 150 kB.
//  4. Every main page passes an accessibility checker's rules for WCAG A and AA,
//     and the keyboard reaches all of it, visibly.
//  5. The documentation can be read by everybody: on a phone, dark and light, with and
//     without JavaScript (except the references). Search and the references work, and no
//     page makes a request to another server.
package browser

import (
	"testing"

	"reservation.dev/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
