package check

import (
	"fmt"
	"net/mail"
	"strings"
	"unicode"
)

// MaxEmail is the length of the longest e-mail address, in bytes. RFC 5321 allows 256 octets with
// the angle brackets around it.
const MaxEmail = 254

// Email trims an e-mail address and returns it. It checks that it is a single address with a domain.
func (f *Fields) Email(field, s string) string {
	before := f.Len()
	s = f.Line(field, s, 1, MaxEmail)
	switch {
	case f.Len() > before:
	case len(s) > MaxEmail:
		f.Add(field, "max_length", fmt.Sprintf("must be at most %d bytes", MaxEmail))
	case !isAddress(s):
		f.Add(field, "email", "must be an e-mail address")
	}
	return s
}

func isAddress(s string) bool {
	parsed, err := mail.ParseAddress(s)
	return err == nil && parsed.Address == s && parsed.Name == "" && isDomain(s[strings.LastIndexByte(s, '@')+1:])
}

// isDomain reports whether domain has the form of a domain name with at least two labels.
func isDomain(domain string) bool {
	labels := strings.Split(domain, ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 || strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-") ||
			strings.ContainsFunc(label, isNotInLabel) {
			return false
		}
	}
	return len(labels) > 1
}

func isNotInLabel(r rune) bool {
	return r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
}
