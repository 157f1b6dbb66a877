package customer

import (
	"regexp"
	"strings"
)

// minPhoneDigits is the smallest number of digits that is treated as part of a phone number. A
// shorter group is searched as text.
const minPhoneDigits = 3

// certainDigits is the number of digits at the end that identify a number. The digits before them
// can be with or without a country code.
const certainDigits = 9

// countryCode matches what national_number removes; migration 0006 has the same expression.
var countryCode = regexp.MustCompile(`^([+]|00)(1|7|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]|(2[1-689]|3[578]|42|5[09]|6[789]|8[035789]|9[679])[0-9])`)

// numberMarks are the characters that separate groups of a number.
const numberMarks = "+()-./"

// isPhone reports whether a word can be part of a number.
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

// phoneDigits returns the digits of a number to search for, without prefixes that depend on the
// country. ok reports whether there are enough digits.
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

// writtenNumber does the same as the SQL function written_number.
func writtenNumber(number string) string {
	return strings.TrimPrefix(onlyDigits(strings.ReplaceAll(number, "(0)", "")), "00")
}

// nationalNumber does the same as the SQL function national_number.
func nationalNumber(number string) string {
	marked := strings.Map(func(r rune) rune {
		if r != '+' && (r < '0' || r > '9') {
			return -1
		}
		return r
	}, number)
	return strings.TrimLeft(onlyDigits(countryCode.ReplaceAllString(marked, "")), "0")
}

// terms splits a query into words and numbers. Consecutive groups of digits are one number, which
// is searched by its digits.
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
