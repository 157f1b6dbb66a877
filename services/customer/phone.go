package customer

import (
	"regexp"
	"slices"
	"strings"
)

// phone is what a search says of a telephone number, in digits. Each part is
// sought apart; "": it is not.
type phone struct {
	digits string // begin the number as it is written, without +, 00 and (0)
	key    string // begins the number within its country
	end    string // is what the number ends with, backwards
}

// What tells a part of a number from a word. Less finds half of the customers.
const minPhoneDigits = 3

// certainDigits are so many at the end of a number that they name it: what stands
// before them may be written with a country's code or without.
const certainDigits = 9

// countryCode is what the column mobile_key is written without; migration 0006 has
// the same expressions.
var countryCode = regexp.MustCompile(`^([+]|00)(1|7|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]|(2[1-689]|3[578]|42|5[09]|6[789]|8[035789]|9[679])[0-9])`)

// numberMarks are what numbers are grouped with.
const numberMarks = "+()-./"

// isPhone tells whether a word can be a part of a number.
func isPhone(word string) bool {
	return strings.Trim(word, "0123456789"+numberMarks) == ""
}

func onlyDigits(text string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, text)
}

// phoneOf reads the groups of a number; ok tells whether they are enough of one.
func phoneOf(groups string) (p phone, ok bool) {
	if len(onlyDigits(groups)) < minPhoneDigits {
		return phone{}, false
	}
	p.digits = strings.TrimPrefix(onlyDigits(strings.ReplaceAll(groups, "(0)", "")), "00")
	marked := strings.Map(func(r rune) rune {
		if r != '+' && (r < '0' || r > '9') {
			return -1
		}
		return r
	}, groups)
	p.key = strings.TrimLeft(onlyDigits(countryCode.ReplaceAllString(marked, "")), "0")
	if len(p.key) < minPhoneDigits {
		p.key = ""
		return p, true
	}
	end := []byte(p.key[max(0, len(p.key)-certainDigits):])
	slices.Reverse(end)
	p.end = string(end)
	return p, true
}

// terms splits a query into words and numbers. Groups of digits that follow each
// other are one number; what may be either a number or a word is both.
func terms(query string) []term {
	var all []term
	fields := strings.Fields(query)
	for i := 0; i < len(fields); {
		n := i
		for n < len(fields) && isPhone(fields[n]) {
			n++
		}
		if p, ok := phoneOf(strings.Join(fields[i:n], "")); ok {
			t := term{phone: p}
			if n == i+1 {
				t.word = fields[i]
			}
			all = append(all, t)
			i = n
			continue
		}
		n = max(n, i+1)
		for _, word := range fields[i:n] {
			all = append(all, term{word: word})
		}
		i = n
	}
	return all
}

// term is one thing that is sought: what begins with the word, or has the number.
type term struct {
	word  string // "": none
	phone phone
}

// columns lists the columns that a term looks in, each with what a value there
// begins with, in any case.
func (t term) columns() [][2]string {
	var all [][2]string
	for _, c := range [][2]string{
		{"first_key", t.word}, {"last_key", t.word}, {`email_key collate "C"`, t.word},
		{"mobile_digits", t.phone.digits}, {"mobile_key", t.phone.key}, {"mobile_end", t.phone.end},
	} {
		if c[1] != "" {
			all = append(all, c)
		}
	}
	return all
}
