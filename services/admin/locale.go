package admin

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/nicksnyder/go-i18n/v2/i18n"
	"golang.org/x/text/language"
)

// locale is how dates, times, numbers and amounts are printed and typed: a language in a region. The messages
// whose ids begin with locale. describe it.
type locale struct {
	tag language.Tag
	// title is the language and the region in that language: "English (UK)". ownName is the language alone.
	title, ownName string
	// firstDay is the day on which weeks begin.
	firstDay time.Weekday
	// months and weekdays are names, from January and from Sunday.
	months, shortMonths, weekdays, shortWeekdays []string
	// formats are the formats of dates and times by name, divided at the names of months and weekdays.
	formats map[string][]string
	// decimal, group and moneyGroup are separators.
	decimal, group, moneyGroup string
	// money and negative are the patterns of amounts: ¤ is the currency, # the number.
	money, negative string
	// symbols are the symbols of currencies that differ from currencySymbols.
	symbols map[string]string
	// spelling changes the spelling of messages, for regions that spell the language differently; nil for others.
	spelling *strings.Replacer
}

// plainLocale is the locale of forms without one, which accept amounts without groups.
var plainLocale = &locale{decimal: "."}

// localePrefix is the beginning of the ids of a locale's messages.
const localePrefix = "locale."

// namePattern matches the names of a month or weekday in a format.
var namePattern = regexp.MustCompile(`January|Jan|Monday|Mon`)

// parseLocale reads a locale from the messages of its language and region.
func parseLocale(messages map[string]*i18n.Message) (*locale, error) {
	var missing []error
	text := func(name string) string {
		m := messages[localePrefix+name]
		if m == nil {
			missing = append(missing, fmt.Errorf("the message %s%s is missing", localePrefix, name))
			return ""
		}
		return m.Other
	}
	names := func(name string, count int) []string {
		all := strings.Split(text(name), ", ")
		if len(all) != count {
			missing = append(missing, fmt.Errorf("%s%s has %d names instead of %d", localePrefix, name, len(all), count))
		}
		return all
	}
	l := &locale{
		title: text("title"), ownName: text("own_name"), formats: map[string][]string{}, symbols: map[string]string{},
		months: names("months", 12), shortMonths: names("months_short", 12),
		weekdays: names("weekdays", 7), shortWeekdays: names("weekdays_short", 7),
		decimal: text("decimal"), group: text("group"), moneyGroup: text("money_group"), money: text("money"), negative: text("money_negative"),
	}
	day, err := strconv.Atoi(text("first_day"))
	if err != nil || day < 0 || day > 6 {
		missing = append(missing, errors.New(localePrefix+"first_day is not a number from 0, Sunday, to 6"))
	}
	l.firstDay = time.Weekday(day)
	if l.tag, err = language.Parse(text("tag")); err != nil {
		missing = append(missing, err)
	}
	for id, m := range messages {
		if name, ok := strings.CutPrefix(id, localePrefix+"format."); ok {
			l.formats[name] = divided(m.Other)
		}
		if code, ok := strings.CutPrefix(id, localePrefix+"symbol."); ok {
			l.symbols[code] = m.Other
		}
	}
	if m := messages[localePrefix+"spelling"]; m != nil {
		l.spelling = strings.NewReplacer(strings.Fields(m.Other)...)
	}
	return l, errors.Join(missing...)
}

// divided divides a format at the names in it.
func divided(format string) []string {
	var parts []string
	for format != "" {
		at := namePattern.FindStringIndex(format)
		switch {
		case at == nil:
			return append(parts, format)
		case at[0] > 0:
			parts = append(parts, format[:at[0]])
		}
		parts = append(parts, format[at[0]:at[1]])
		format = format[at[1]:]
	}
	return parts
}

// format prints a time in a format of the catalogue, such as long_day. It panics if the catalogue has no such format.
func (l *locale) format(format string, t time.Time) string {
	parts, ok := l.formats[format]
	if !ok {
		panic(fmt.Sprintf("no format %q; use one of: %s", format, strings.Join(slices.Sorted(maps.Keys(l.formats)), ", ")))
	}
	var b []byte
	for _, part := range parts {
		switch part {
		case "January":
			b = append(b, l.months[t.Month()-1]...)
		case "Jan":
			b = append(b, l.shortMonths[t.Month()-1]...)
		case "Monday":
			b = append(b, l.weekdays[t.Weekday()]...)
		case "Mon":
			b = append(b, l.shortWeekdays[t.Weekday()]...)
		default:
			b = t.AppendFormat(b, part)
		}
	}
	return string(b)
}

// wallTime prints a time of day, given as HH:MM.
func (l *locale) wallTime(text string) string {
	t, err := time.Parse("15:04", text)
	switch printed := l.format("time", t); {
	case err == nil:
		return printed
	case text == "24:00" && printed != "00:00": // t is midnight
		return printed
	}
	return text
}

// wallDate prints a YYYY-MM-DD date: "21 Nov 2026".
func (l *locale) wallDate(text string) string {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return text
	}
	return l.format("date", t)
}

// dayOfWeek returns the number of days since the first day of the week of a day.
func (l *locale) dayOfWeek(t time.Time) int { return (int(t.Weekday()-l.firstDay) + 7) % 7 }

// weekStart returns the ISO weekday on which weeks begin.
func (l *locale) weekStart() int { return (int(l.firstDay)+6)%7 + 1 }

// inWeek returns what belongs to the days of a week, given from Monday, from the first day of the week.
func inWeek[T any](l *locale, days []T) []T {
	first := l.weekStart() - 1
	return slices.Concat(days[first:], days[:first])
}

// number prints a number with its digits grouped.
func (l *locale) number(n int64) string { return grouped(n, l.group) }

// decimals prints a number with a fixed number of decimals.
func (l *locale) decimals(n float64, places int) string {
	return strings.Replace(strconv.FormatFloat(n, 'f', places, 64), ".", l.decimal, 1)
}

// price prints an amount of minor units: "£12.50", "12,50 £".
func (l *locale) price(minor int64, currency string) string {
	pattern, number := l.money, grouped(minor/100, l.moneyGroup)+l.decimal+fmt.Sprintf("%02d", minor%100)
	if minor < 0 {
		pattern, number = l.negative, grouped(-(minor/100), l.moneyGroup)+l.decimal+fmt.Sprintf("%02d", -(minor%100))
	}
	symbol := l.symbol(currency)
	if last, _ := utf8.DecodeLastRuneInString(symbol); unicode.IsLetter(last) {
		pattern = strings.Replace(pattern, "¤#", "¤\u00a0#", 1)
	}
	return strings.NewReplacer("#", number, "¤", symbol, "-", "−").Replace(pattern)
}

// symbol returns the symbol of a currency; its code if it has none.
func (l *locale) symbol(currency string) string {
	for _, symbols := range []map[string]string{l.symbols, currencySymbols} {
		if s := symbols[currency]; s != "" {
			return s
		}
	}
	return currency
}

// amount prints minor units as a form field has them: "12.50", "12,50".
func (l *locale) amount(minor int64) string { return strings.Replace(amount(minor), ".", l.decimal, 1) }

// hundredths prints hundredths as a form field has them: 1750 is "17.5" or "17,5".
func (l *locale) hundredths(n int64) string {
	return strings.TrimSuffix(strings.TrimRight(l.amount(n), "0"), l.decimal)
}

// grouped prints a number with a separator between groups of three digits.
func grouped(n int64, separator string) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + separator + text[i:]
	}
	return text
}

// mostTyped is the largest amount that a form accepts, in hundredths.
const mostTyped = 1<<40 - 1

// groupVariants replaces separators of groups that keyboards lack by what people type instead.
var groupVariants = strings.NewReplacer("’", "'", "\u00a0", " ", "\u202f", " ")

// parseAmount returns the hundredths of a typed amount, such as "12.50". Every locale accepts a comma or a point
// before the decimals, of which there are at most two. Digits can be grouped in threes, but only with the separator
// of the locale's amounts: "1,250" could otherwise be a little more than one. ok is false for any other text, and
// for more than mostTyped.
func (l *locale) parseAmount(text string) (hundredths int64, ok bool) {
	text = groupVariants.Replace(text)
	group := groupVariants.Replace(l.moneyGroup)
	whole, fraction := text, ""
	if i := strings.LastIndexAny(text, ".,"); i >= 0 && (text[i:i+1] != group || len(text)-i-1 < 3) {
		whole, fraction = text[:i], text[i+1:]
		if strings.Contains(whole, text[i:i+1]) {
			return 0, false // 1.250.00
		}
	}
	if group != "" && strings.Contains(whole, group) {
		groups := strings.Split(whole, group)
		for i, digits := range groups {
			if i > 0 && len(digits) != 3 || i == 0 && (digits == "" || len(digits) > 3) {
				return 0, false
			}
		}
		whole = strings.Join(groups, "")
	}
	if whole == "" || len(whole) > 10 || len(fraction) > 2 || strings.Trim(whole+fraction, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt((whole + fraction + "00")[:len(whole)+2], 10, 64)
	return n, err == nil && n <= mostTyped
}
