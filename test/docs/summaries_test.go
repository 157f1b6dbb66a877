package docs

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// maxSummaryWords keeps a summary short enough for a menu.
const maxSummaryWords = 8

// summaryWords is the list of words that summaries of operations may use. It has the
// words of the trade, so that one thing has one name in both interfaces.
const summaryWords = "test/docs/testdata/summary_words.txt"

var word = regexp.MustCompile(`[\p{L}][\p{L}'-]*`)

// The summaries of operations begin with a verb, are short and use known words.
func TestSummaries(t *testing.T) {
	t.Parallel()
	verbs, words := knownWords(t)
	for _, path := range files(t, "openapi.yaml", "webhooks.yaml") {
		var description struct {
			Paths    map[string]map[string]any
			Webhooks map[string]map[string]any
		}
		if err := yaml.Unmarshal([]byte(page(t, path)), &description); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for name, operations := range description.Paths {
			for method, operation := range operations {
				if fields, ok := operation.(map[string]any); ok && slices.Contains([]string{"get", "post", "put", "delete", "patch"}, method) {
					summary, _ := fields["summary"].(string)
					checkSummary(t, path+": "+method+" "+name, summary, verbs, words)
				}
			}
		}
		for name, operations := range description.Webhooks {
			for _, operation := range operations {
				if fields, ok := operation.(map[string]any); ok {
					summary, _ := fields["summary"].(string)
					checkSummary(t, path+": "+name, summary, nil, words)
				}
			}
		}
	}
}

// checkSummary fails unless a summary begins with one of the verbs, if there are any, and
// has known words only.
func checkSummary(t *testing.T, place, summary string, verbs, words []string) {
	t.Helper()
	all := word.FindAllString(summary, -1)
	if len(all) == 0 || len(all) > maxSummaryWords || strings.HasSuffix(summary, ".") {
		t.Errorf("%s: the summary %q must have 1 to %d words and no full stop", place, summary, maxSummaryWords)
		return
	}
	if verbs != nil && !slices.Contains(verbs, all[0]) {
		t.Errorf("%s: the summary %q must begin with one of %v", place, summary, verbs)
	}
	for _, w := range all[1:] {
		if !slices.Contains(words, strings.ToLower(w)) {
			t.Errorf("%s: %q in the summary %q is not in %s", place, w, summary, summaryWords)
		}
	}
}

// knownWords returns the verbs that summaries begin with, and the words that follow.
func knownWords(t *testing.T) (verbs, words []string) {
	t.Helper()
	for line := range strings.Lines(page(t, summaryWords)) {
		line = strings.TrimSpace(line)
		switch rest, isVerb := strings.CutPrefix(line, "verb "); {
		case line == "" || strings.HasPrefix(line, "#"):
		case isVerb:
			verbs = append(verbs, rest)
		default:
			words = append(words, line)
		}
	}
	if len(verbs) == 0 || len(words) == 0 {
		t.Fatalf("%s has %d verbs and %d words", summaryWords, len(verbs), len(words))
	}
	return verbs, words
}
