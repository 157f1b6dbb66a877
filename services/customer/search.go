package customer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"reservation.dev/platform/fault"
)

// maxWords is the largest number of words in a query. A displayed name rarely has more.
const maxWords = 10

// parseQuery returns the words and numbers of a query.
func parseQuery(query string) ([]string, error) {
	if !utf8.ValidString(query) || strings.ContainsRune(query, 0) {
		return nil, fault.InvalidParameter("query", "characters", "must not contain control characters")
	}
	words := terms(query)
	if len(words) > maxWords {
		return nil, fault.InvalidParameter("query", "max_items", fmt.Sprintf("must have at most %d words", maxWords))
	}
	return words, nil
}

// tier is how closely a customer matches a query. The results of a query are listed tier by tier,
// each in the order of the list.
type tier byte

const (
	// noTier is the tier of a list without a query.
	noTier tier = iota
	// wholeWords: every word of the query is a word of the search text. This tier and the next are
	// empty if a word of the query has characters other than letters and digits.
	wholeWords
	// wordStarts: every word begins a word of the search text.
	wordStarts
	// anywhere: every word is somewhere in the search text.
	anywhere
	// oneTypo: as anywhere, with one typo. Used only if the other tiers are empty.
	oneTypo

	lastTier = oneTypo
)

// patterns returns the patterns that the search text of a customer of the tier, or of an earlier
// one, matches.
func (t tier) patterns(words []string) []string {
	before, after := "% ", " %"
	switch t {
	case wordStarts:
		after = "%"
	case anywhere:
		before, after = "%", "%"
	}
	all := make([]string, len(words))
	for i, word := range words {
		all[i] = before + escapeLike(word) + after
	}
	return all
}

// firstTier returns the first tier to search. The trigram index splits words into letters and
// digits: for "example.com" it would return every address at that domain as a possible beginning of
// a word.
func firstTier(words []string) tier {
	for _, word := range words {
		if strings.ContainsFunc(word, func(r rune) bool { return r < utf8.RuneSelf && !isTrigramLetter(r) }) {
			return anywhere
		}
	}
	return wholeWords
}

// excluded returns the patterns that all customers of earlier tiers match.
func (t tier) excluded(words []string) []string {
	if t == firstTier(words) {
		return []string{}
	}
	return (t - 1).patterns(words)
}

func escapeLike(text string) string {
	return strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text)
}

// distinct returns each word once: first those that the trigram index can find, and of these the
// longest first, because they are the rarest.
func distinct(words []string) []string {
	words = slices.Clone(words)
	slices.SortFunc(words, func(a, b string) int {
		return cmp.Or(rank(b)-rank(a), len(b)-len(a), strings.Compare(a, b))
	})
	return slices.Compact(words)
}

func rank(word string) int {
	if hasTrigram(word) {
		return 1
	}
	return 0
}

// isIndexed reports whether the trigram index can find a word in the tier. The beginning of a word
// and the space before it make a trigram.
func (t tier) isIndexed(word string) bool {
	return hasTrigram(word) || t < anywhere && isTrigramLetter(rune(word[0]))
}

func isTrigramLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' }

// minIndexed is the number of consecutive letters or digits that the trigram index needs.
const minIndexed = 3

// hasTrigram reports whether the trigram index can find a word. It can for ASCII in every database;
// which other characters are letters depends on the database's locale.
func hasTrigram(word string) bool {
	run := 0
	for _, r := range word {
		run++
		if !isTrigramLetter(r) {
			run = 0
		}
		if run == minIndexed {
			return true
		}
	}
	return false
}

const (
	// minTypo is the smallest number of letters in which a typo is searched for: a shorter word
	// resembles too many others.
	minTypo = 4
	maxTypo = 20
	// wholeTypo: a word with fewer letters must match a whole word, including the typo.
	wholeTypo = 6
	// maxTypoWords is the number of words of a query, the longest ones, in which a typo is searched
	// for.
	maxTypoWords = 3
)

// typos returns the patterns of a word with one typo: a wrong, extra or missing letter, or two
// swapped letters. nil: the word is too short.
func typos(word string) []string {
	letters := []rune(word)
	n := len(letters)
	if n < minTypo || n > maxTypo || !hasTrigram(word) || onlyDigits(word) == word {
		return nil
	}
	after := "%"
	if n < wholeTypo {
		after = " %"
	}
	var all []string
	add := func(parts ...string) { all = append(all, "% "+strings.Join(parts, "")+after) }
	for i := range n + 1 {
		head := escapeLike(string(letters[:i]))
		add(head, "_", escapeLike(string(letters[i:])))
		if i == n {
			break
		}
		tail := escapeLike(string(letters[i+1:]))
		add(head, "_", tail)
		add(head, tail)
		if i+1 < n {
			add(head, escapeLike(string([]rune{letters[i+1], letters[i]})), escapeLike(string(letters[i+2:])))
		}
	}
	return all
}
