package csvfile

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// ParseAmount returns the minor units of an amount as Amount writes it, such as "12.50". It also accepts a decimal
// comma, and one decimal place or none. It refuses separators of thousands and amounts below zero.
func ParseAmount(text string) (int64, error) {
	whole, part, divided := strings.Cut(strings.Replace(text, ",", ".", 1), ".")
	switch {
	case !divided:
		part = "00"
	case len(part) == 1:
		part += "0"
	case len(part) != 2:
		return 0, errAmount
	}
	for _, c := range whole + part {
		if c < '0' || c > '9' {
			return 0, errAmount
		}
	}
	minor, err := strconv.ParseInt(whole+part, 10, 64)
	if err != nil || whole == "" || minor > math.MaxInt64/2 {
		return 0, errAmount
	}
	return minor, nil
}

var errAmount = errors.New("must be an amount such as 12.50")
