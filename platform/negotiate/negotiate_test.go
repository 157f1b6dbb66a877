package negotiate_test

import (
	"net/http"
	"testing"

	"reservation.dev/platform/negotiate"
)

func TestCoding(t *testing.T) {
	t.Parallel()
	for accepted, want := range map[string]string{
		"":                              "",
		"identity":                      "",
		"*":                             "",
		"gzip":                          "gzip",
		"GZip":                          "gzip",
		"gzip, deflate, br, zstd":       "zstd",
		"zstd;q=0.5, gzip":              "gzip",
		"zstd; Q=0.5 ,gzip; q=0.4":      "zstd",
		"gzip;q=0":                      "",
		"gzip;q=0.000, zstd;q=0":        "",
		"gzip;q=x":                      "",
		"gzip;q=2":                      "",
		"gzip;q=NaN":                    "",
		"gzipped, xgzip, zstandard, zs": "",
	} {
		if got := negotiate.Coding(http.Header{"Accept-Encoding": {accepted}}, "zstd", "gzip"); got != want {
			t.Errorf("%q: got %q, want %q", accepted, got, want)
		}
	}
	if got := negotiate.Coding(http.Header{"Accept-Encoding": {"br", "gzip"}}, "gzip"); got != "gzip" {
		t.Errorf("of two headers: got %q", got)
	}
}

func TestMatches(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]bool{
		``:                 false,
		`"a"`:              true,
		`W/"a"`:            true,
		`"b", W/"c" , "a"`: true,
		`*`:                true,
		`"A"`:              false,
		`a`:                false,
		`"a`:               false,
		`w/"a"`:            false,
	} {
		if got := negotiate.Matches(http.Header{"If-None-Match": {header}}, `"a"`); got != want {
			t.Errorf("%s: got %v", header, got)
		}
	}
	if !negotiate.Matches(http.Header{"If-None-Match": {`"b"`, `"a"`}}, `"a"`) {
		t.Error("the second header is not read")
	}
}
