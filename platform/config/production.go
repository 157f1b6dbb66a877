package config

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"strings"

	"github.com/caarlos0/env/v11"
)

// insecureMark is in every secret that a file for trying the platform comes with.
const insecureMark = "insecure-"

// CheckProduction returns as *Faults what a process that serves real customers
// must not be set to: secrets that were published for trying, and what the
// structs within dst say in a method Production() error. dst was filled by Read.
// No secret is shown.
func CheckProduction(e Env, dst any) error {
	var all Faults
	values, _ := e.settings(dst)
	fields, err := env.GetFieldParams(dst)
	all.add(err)
	for _, f := range fields {
		if IsInsecure(values[f.Key]) {
			all.add(fmt.Errorf("%s holds a secret for trying (%s…), which everybody knows: make another one", f.Key, insecureMark))
		}
	}
	each(reflect.ValueOf(dst), func(section any) {
		if s, ok := section.(interface{ Production() error }); ok {
			all.add(s.Production())
		}
	})
	return all.orNil()
}

var (
	base64Run = regexp.MustCompile(`[A-Za-z0-9+/_-]{12,}`)
	hexRun    = regexp.MustCompile(`[0-9a-fA-F]{18,}`)
)

// IsInsecure reports whether a value is a secret for trying, or has one in it:
// as it stands, escaped in a URL, or encoded in base64 or hexadecimal, also
// within a list or a JSON text.
func IsInsecure(value string) bool {
	if marked(value) {
		return true
	}
	if plain, err := url.PathUnescape(value); err == nil && marked(plain) {
		return true
	}
	for _, run := range base64Run.FindAllString(value, -1) {
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			// A length that no encoding has is that of a text with something before
			// or after it, whose beginning is still read.
			if plain, err := encoding.DecodeString(run[:len(run)/4*4]); err == nil && marked(string(plain)) {
				return true
			}
		}
	}
	for _, run := range hexRun.FindAllString(value, -1) {
		if plain, err := hex.DecodeString(run[:len(run)/2*2]); err == nil && marked(string(plain)) {
			return true
		}
	}
	return false
}

func marked(text string) bool { return strings.Contains(strings.ToLower(text), insecureMark) }
