package docs

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// maxColumns is the width of prose and templates. Tables, code, headings and links may
// be wider.
const maxColumns = 120

// proseRule is a pattern that plain English does not need.
type proseRule struct {
	pattern *regexp.Regexp
	// except matches the sentences in which the pattern is right.
	except *regexp.Regexp
	advice string
}

// proseRules returns what CONTRIBUTING.md says under "How the texts read", as far as a
// pattern finds it with few false alarms.
func proseRules() []proseRule {
	rule := func(pattern, advice string, except ...string) proseRule {
		r := proseRule{pattern: regexp.MustCompile(pattern), advice: advice}
		if len(except) > 0 {
			r.except = regexp.MustCompile(except[0])
		}
		return r
	}
	return []proseRule{
		rule(`^(What|Who|Whoever|Whose|Those who|Those that|Of the|Of several) [a-z](.*[.:;]|\S*( \S+){5,})$`, "name the actor", `\?`),
		rule(`^It( is gone)?\.$`, "say what it is: the customer, the updated customer, deleted"),
		rule(`(?i)\bbut for\b`, "except"),
		rule(`(?i)\b(anew|meanwhile|hitherto|thereof|whatsoever)\b`, "again, while …"),
		rule(`(?i)\bbesides?\b`, "next to, in addition to"),
		rule(`(?i)\bas (it|they) stands?\b`, "unchanged"),
		rule(`(?i)\bwhatever\b`, "any, regardless of"),
		rule(`(?i)\bof (itself|themselves)\b`, "automatically"),
		rule(`(?i)\bmend(s|ed|ing)?\b`, "fix, correct, repair"),
		rule(`(?i)\b(is|are|was|were|be) told\b`, "notify"),
		rule(`(?i)\b(gives?|gave|given|giving) back\b`, "return, refund"),
		rule(`(?i)\b(takes?|took|taken|taking) back\b`, "undo"),
		rule(`(?i)\b(such a one|the like|so to say|for good|in the end)\b`, "a plain word", `(?i)for good (reason|measure)|in the end-to-end`),
		rule(`(?i), say[,:;.)]`, "for example"),
		rule(`(?i)\b(is|are|was) no [a-z]`, "is not a …",
			`(?i)\bthere (is|are|was) no\b|\b(is|are|was) no (longer|more|larger|smaller|greater|later|earlier|older|newer|fewer|less|different|other|reason|need|one)\b`),
		rule(`(?i)\ba (yes|no)\b`, "an acknowledged request, a refusal", `(?i)\ba no-`),
		rule(`(?i)\b(its|their) (hour|time) is (over|up)\b`, "expired"),
		rule(`(?i)\b(did not come|present password|sends? anew|hands? out|handed out)\b`, "no-show, current password, resend, issue",
			`(?i)did not come from`),
		rule(`(?i)\bplaces (taken|left|free|booked)\b|\bfree places\b`, "spaces"),
	}
}

// Every page, message and comment that people read keeps to the rules of plain English
// that a pattern can check.
func TestProse(t *testing.T) {
	t.Parallel()
	rules := proseRules()
	for _, s := range sentences(t) {
		for _, r := range rules {
			if r.pattern.MatchString(s.text) && (r.except == nil || !r.except.MatchString(s.text)) {
				t.Errorf("%s: %q (instead of %q: %s)", s.place, s.text, r.pattern.FindString(s.text), r.advice)
			}
		}
	}
}

func TestProseRules(t *testing.T) {
	t.Parallel()
	for text, wrong := range map[string]bool{
		"What was made.":                            true,
		"What does it cost?":                        true && false,
		"It.":                                       true,
		"It returns the customer.":                  false,
		"Please mend what is marked below.":         true,
		"An amended policy applies from now on.":    false,
		"X is no Y.":                                true,
		"The token is no longer valid.":             false,
		"There is no section with this name.":       false,
		"The endpoint is told of the change.":       true,
		"All places taken.":                         true,
		"Two decimal places.":                       false,
		"Who waited for it past the start is late.": true,
		"What next":                                 false,
		"Who asked for it first gets it":            true,
		"Deliveries are kept, and can be replayed, for 30 days.": false,
	} {
		found := false
		for _, r := range proseRules() {
			found = found || r.pattern.MatchString(text) && (r.except == nil || !r.except.MatchString(text))
		}
		if found != wrong {
			t.Errorf("%q: found %v, want %v", text, found, wrong)
		}
	}
}

// Prose and templates wrap at maxColumns.
func TestWidth(t *testing.T) {
	t.Parallel()
	for _, path := range files(t, ".md", ".html") {
		fenced := false
		for i, line := range strings.Split(page(t, path), "\n") {
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				fenced = !fenced
			}
			if fenced || utf8.RuneCountInString(line) <= maxColumns || !wraps(path, line) {
				continue
			}
			t.Errorf("%s has %d columns", fmt.Sprintf("%s:%d", path, i+1), utf8.RuneCountInString(line))
		}
	}
}

// unbreakable matches a word that is as long as a line, such as a link.
var unbreakable = regexp.MustCompile(`\S{100,}`)

// wraps reports whether a line of a file could be wrapped.
func wraps(path, line string) bool {
	text := strings.TrimSpace(line)
	if unbreakable.MatchString(text) {
		return false
	}
	return strings.HasSuffix(path, ".html") || !strings.HasPrefix(text, "|") && !strings.HasPrefix(text, "#") && !strings.HasPrefix(text, "![")
}
