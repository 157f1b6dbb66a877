package customer

import (
	"regexp"
	"strings"
)

// minPhoneDigits are the fewest digits that are read as a part of a number. Fewer are
// sought as they are.
const minPhoneDigits = 3

// certainDigits are so many at the end of a number that they name it: what stands
// before them may be written with a country's code or without.
const certainDigits = 9

// countryCode is what national_number leaves out; migration 0006 has the same
// expression.
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

// phoneDigits returns the digits of a number that a search looks for, without what is
// written in one country and not in another; ok tells whether they are enough of one.
func phoneDigits(groups string) (digits string, ok bool) {
	all := onlyDigits(groups)
	if len(all) < minPhoneDigits {
		return "", false
	}
	if national := nationalNumber(groups); len(national) >= minPhoneDigits {
		return national[max(0, len(national)-certainDigits):], true
	}
	if written := writtenNumber(groups); len(written) >= minPhoneDigits {
		return written, true
	}
	return all, true
}

// writtenNumber is the SQL function written_number.
func writtenNumber(number string) string {
	return strings.TrimPrefix(onlyDigits(strings.ReplaceAll(number, "(0)", "")), "00")
}

// nationalNumber is the SQL function national_number.
func nationalNumber(number string) string {
	marked := strings.Map(func(r rune) rune {
		if r != '+' && (r < '0' || r > '9') {
			return -1
		}
		return r
	}, number)
	return strings.TrimLeft(onlyDigits(countryCode.ReplaceAllString(marked, "")), "0")
}

// terms splits a query into words and numbers. Groups of digits that follow each
// other are one number, of which the digits are sought.
func terms(query string) []string {
	var all []string
	fields := strings.Fields(query)
	for i := 0; i < len(fields); {
		n := i
		for n < len(fields) && isPhone(fields[n]) {
			n++
		}
		if digits, ok := phoneDigits(strings.Join(fields[i:n], "")); ok {
			all = append(all, digits)
			i = n
			continue
		}
		n = max(n, i+1)
		all = append(all, fields[i:n]...)
		i = n
	}
	return all
}
