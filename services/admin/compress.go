package admin

import (
	"net/url"
	"time"
)

// The size of a compressed page says how much of its text repeats. If another site can choose a part of a page, by
// the link with which it opens the page, it can find out the rest of the page from the sizes. A response is
// therefore compressed only if all of this is true:
//
//  1. Its route is large.
//  2. Its address is plain: see isPlain. Pages repeat their address, in links and forms.
//  3. Its status is 200, so that the identifiers in its path are those of something that exists.
//
// The pages of a day and a week redirect to a plain address. The page of a date that is not compressed shows at most
// rosterPart bookings.

// plainValues are the parameters that a plain address can have, with the check of their values.
var plainValues = map[string]func(value string) bool{
	"day":  isDay,
	"from": isDay,
	"show": func(value string) bool { return value == "cancelled" },
	"q":    func(value string) bool { return value == "" },
}

// isDay reports whether a text is a day, as YYYY-MM-DD.
func isDay(text string) bool {
	_, err := time.Parse(time.DateOnly, text)
	return err == nil
}

// isPlain reports whether an address has no text of free choice. Apart from its path, it has only plainValues, each
// at most once. Nothing is escaped in another way than this package does, and the parameters are sorted.
func isPlain(address *url.URL) bool {
	query := address.Query()
	for name, values := range query {
		valid := plainValues[name]
		if valid == nil || len(values) != 1 || !valid(values[0]) {
			return false
		}
	}
	return address.RawPath == "" && !address.ForceQuery && address.RawQuery == query.Encode()
}
