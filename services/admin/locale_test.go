package admin

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// textsIn returns the dashboard's texts for a language and region.
func textsIn(t *testing.T, tag string) *texts {
	t.Helper()
	p, err := embeddedPages()
	if err != nil {
		t.Fatal(err)
	}
	x := p.catalogue.of(tag, "")
	if x.language.String() != tag {
		t.Fatalf("the catalogue has no %s", tag)
	}
	return x
}

// The printed texts below have ~ for a no-break space.

func TestAmountsByLocale(t *testing.T) {
	t.Parallel()
	type amount struct {
		minor    int64
		currency string
	}
	amounts := []amount{{0, "GBP"}, {1250, "GBP"}, {1250, "EUR"}, {1250, "USD"}, {7, "EUR"}, {-150, "EUR"}, {-123456, "GBP"}, {123456789012, "EUR"}, {99999, "CHF"}, {-1250, "CHF"}}
	for tag, want := range map[string][]string{
		"en-GB": {"£0.00", "£12.50", "€12.50", "$12.50", "€0.07", "−€1.50", "−£1,234.56", "€1,234,567,890.12", "CHF~999.99", "−CHF~12.50"},
		"en-US": {"£0.00", "£12.50", "€12.50", "$12.50", "€0.07", "−€1.50", "−£1,234.56", "€1,234,567,890.12", "CHF~999.99", "−CHF~12.50"},
		"de-DE": {"0,00~£", "12,50~£", "12,50~€", "12,50~$", "0,07~€", "−1,50~€", "−1.234,56~£", "1.234.567.890,12~€", "999,99~CHF", "−12,50~CHF"},
		"de-AT": {"£~0,00", "£~12,50", "€~12,50", "$~12,50", "€~0,07", "−€~1,50", "−£~1.234,56", "€~1.234.567.890,12", "CHF~999,99", "−CHF~12,50"},
		"de-CH": {"£~0.00", "£~12.50", "EUR~12.50", "$~12.50", "EUR~0.07", "EUR−1.50", "£−1’234.56", "EUR~1’234’567’890.12", "CHF~999.99", "CHF−12.50"},
	} {
		x := textsIn(t, tag)
		for i, a := range amounts {
			if got := strings.ReplaceAll(x.price(a.minor, a.currency), "\u00a0", "~"); got != want[i] {
				t.Errorf("%s: %d %s: %q, want %q", tag, a.minor, a.currency, got, want[i])
			}
		}
	}
}

func TestNumbersByLocale(t *testing.T) {
	t.Parallel()
	for tag, want := range map[string][]string{
		"en-GB": {"0", "999", "1,000", "1,234,567", "1.5", "0.0", "1500.3", "17.5", "20", "12.50", "1250.00"},
		"en-US": {"0", "999", "1,000", "1,234,567", "1.5", "0.0", "1500.3", "17.5", "20", "12.50", "1250.00"},
		"de-DE": {"0", "999", "1.000", "1.234.567", "1,5", "0,0", "1500,3", "17,5", "20", "12,50", "1250,00"},
		"de-AT": {"0", "999", "1~000", "1~234~567", "1,5", "0,0", "1500,3", "17,5", "20", "12,50", "1250,00"},
		"de-CH": {"0", "999", "1’000", "1’234’567", "1.5", "0.0", "1500.3", "17.5", "20", "12.50", "1250.00"},
	} {
		x := textsIn(t, tag)
		got := []string{
			x.number(0), x.number(999), x.number(1000), x.number(1234567), x.decimals(1.5, 1), x.decimals(0, 1), x.decimals(1500.26, 1),
			x.hundredths(1750), x.hundredths(2000), x.amount(1250), x.amount(125000),
		}
		for i := range got {
			if got := strings.ReplaceAll(got[i], "\u00a0", "~"); got != want[i] {
				t.Errorf("%s: %q, want %q", tag, got, want[i])
			}
		}
	}
}

func TestTimesByLocale(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 13, 4, 5, 0, time.UTC)
	german := map[string]string{
		"time": "13:04", "hour": "13:04", "seconds": "21. Nov. 2026, 13:04:05", "date": "21. Nov. 2026", "long_date": "21. November 2026",
		"day": "Sa., 21. Nov. 2026", "long_day": "Samstag, 21. November 2026", "day_time": "Sa., 21. Nov. 2026, 13:04",
		"weekday": "Sa", "weekday_number": "Sa 21.", "month_day": "21. Nov.", "long_month_day": "21. November",
		"weekday_month_day": "Sa., 21. Nov.", "long_weekday_month_day": "Samstag, 21. November", "weekday_month_day_time": "Sa., 21. Nov., 13:04",
		"month": "Nov. 2026", "long_month": "November 2026",
	}
	for tag, want := range map[string]map[string]string{
		"en-GB": {
			"time": "13:04", "hour": "13:04", "seconds": "21 Nov 2026, 13:04:05", "date": "21 Nov 2026", "long_date": "21 November 2026",
			"day": "Sat 21 Nov 2026", "long_day": "Saturday 21 November 2026", "day_time": "Sat 21 Nov 2026, 13:04",
			"weekday": "Sat", "weekday_number": "Sat 21", "month_day": "21 Nov", "long_month_day": "21 November",
			"weekday_month_day": "Sat 21 Nov", "long_weekday_month_day": "Saturday 21 November", "weekday_month_day_time": "Sat 21 Nov, 13:04",
			"month": "Nov 2026", "long_month": "November 2026",
		},
		"en-US": {
			"time": "1:04~PM", "hour": "1~PM", "seconds": "Nov 21, 2026, 1:04:05~PM", "date": "Nov 21, 2026", "long_date": "November 21, 2026",
			"day": "Sat, Nov 21, 2026", "long_day": "Saturday, November 21, 2026", "day_time": "Sat, Nov 21, 2026, 1:04~PM",
			"weekday": "Sat", "weekday_number": "Sat 21", "month_day": "Nov 21", "long_month_day": "November 21",
			"weekday_month_day": "Sat, Nov 21", "long_weekday_month_day": "Saturday, November 21", "weekday_month_day_time": "Sat, Nov 21, 1:04~PM",
			"month": "Nov 2026", "long_month": "November 2026",
		},
		"de-DE": german, "de-AT": german, "de-CH": german,
	} {
		x := textsIn(t, tag)
		for name := range x.formats {
			if got := strings.ReplaceAll(x.format(name, at), "\u00a0", "~"); got != want[name] {
				t.Errorf("%s: %s: %q, want %q", tag, name, got, want[name])
			}
		}
	}
}

func TestTimesOfDayByLocale(t *testing.T) {
	t.Parallel()
	times := []string{"00:00", "00:30", "09:05", "11:59", "12:00", "12:59", "13:00", "23:59", "24:00"}
	for tag, want := range map[string][]string{
		"en-GB": {"00:00", "00:30", "09:05", "11:59", "12:00", "12:59", "13:00", "23:59", "24:00"},
		"en-US": {"12:00~AM", "12:30~AM", "9:05~AM", "11:59~AM", "12:00~PM", "12:59~PM", "1:00~PM", "11:59~PM", "12:00~AM"},
		"de-DE": times, "de-AT": times, "de-CH": times,
	} {
		x := textsIn(t, tag)
		for i, text := range times {
			if got := strings.ReplaceAll(x.wallTime(text), "\u00a0", "~"); got != want[i] {
				t.Errorf("%s: %s: %q, want %q", tag, text, got, want[i])
			}
		}
	}
}

// TestNamesByLocale compares the names of each month and weekday, whose order in the catalogue counts.
func TestNamesByLocale(t *testing.T) {
	t.Parallel()
	for tag, want := range map[string][4]string{
		"en-GB": {"1 Jan 2026, 1 Feb 2026, 1 Mar 2026, 1 Apr 2026, 1 May 2026, 1 Jun 2026, 1 Jul 2026, 1 Aug 2026, 1 Sep 2026, 1 Oct 2026, 1 Nov 2026, 1 Dec 2026", "1 May 2026", "Sun Mon Tue Wed Thu Fri Sat", "Wednesday 6 May 2026"},
		"en-US": {"Jan 1, 2026, Feb 1, 2026, Mar 1, 2026, Apr 1, 2026, May 1, 2026, Jun 1, 2026, Jul 1, 2026, Aug 1, 2026, Sep 1, 2026, Oct 1, 2026, Nov 1, 2026, Dec 1, 2026", "May 1, 2026", "Sun Mon Tue Wed Thu Fri Sat", "Wednesday, May 6, 2026"},
		"de-DE": {"1. Jan. 2026, 1. Feb. 2026, 1. März 2026, 1. Apr. 2026, 1. Mai 2026, 1. Juni 2026, 1. Juli 2026, 1. Aug. 2026, 1. Sept. 2026, 1. Okt. 2026, 1. Nov. 2026, 1. Dez. 2026", "1. Mai 2026", "So Mo Di Mi Do Fr Sa", "Mittwoch, 6. Mai 2026"},
		"de-AT": {"1. Jän. 2026, 1. Feb. 2026, 1. März 2026, 1. Apr. 2026, 1. Mai 2026, 1. Juni 2026, 1. Juli 2026, 1. Aug. 2026, 1. Sep. 2026, 1. Okt. 2026, 1. Nov. 2026, 1. Dez. 2026", "1. Mai 2026", "So Mo Di Mi Do Fr Sa", "Mittwoch, 6. Mai 2026"},
		"de-CH": {"1. Jan. 2026, 1. Feb. 2026, 1. März 2026, 1. Apr. 2026, 1. Mai 2026, 1. Juni 2026, 1. Juli 2026, 1. Aug. 2026, 1. Sept. 2026, 1. Okt. 2026, 1. Nov. 2026, 1. Dez. 2026", "1. Mai 2026", "So Mo Di Mi Do Fr Sa", "Mittwoch, 6. Mai 2026"},
	} {
		x := textsIn(t, tag)
		var months, days []string
		for m := time.January; m <= time.December; m++ {
			months = append(months, x.format("date", time.Date(2026, m, 1, 0, 0, 0, 0, time.UTC)))
		}
		for day := range 7 {
			days = append(days, x.format("weekday", time.Date(2026, 11, 22+day, 0, 0, 0, 0, time.UTC)))
		}
		got := [4]string{strings.Join(months, ", "), x.wallDate("2026-05-01"), strings.Join(days, " "), x.format("long_day", time.Date(2026, 5, 6, 0, 0, 0, 0, time.UTC))}
		if got != want {
			t.Errorf("%s: %q, want %q", tag, got, want)
		}
	}
}

func TestWeeksByLocale(t *testing.T) {
	t.Parallel()
	for tag, want := range map[string]string{
		"en-GB": "MO TU WE TH FR SA SU 5", "en-US": "SU MO TU WE TH FR SA 6", "de-DE": "MO TU WE TH FR SA SU 5",
		"de-AT": "MO TU WE TH FR SA SU 5", "de-CH": "MO TU WE TH FR SA SU 5",
	} {
		x := textsIn(t, tag)
		saturday := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
		if got := strings.Join(inWeek(x.locale, weekdays), " ") + " " + x.number(int64(x.dayOfWeek(saturday))); got != want {
			t.Errorf("%s: %s, want %s", tag, got, want)
		}
	}
}

// noAmount stands for a text that is refused.
const noAmount = -1

func TestTypedAmountsByLocale(t *testing.T) {
	t.Parallel()
	typed := []string{"12.50", "12,50", "12,5", "1250", "1,250.00", "1.250,00", "1,250", "1.250", "1'250.00", "1 250,00", "1,2,50", "12,50.00", "1.250.00", "0,07", "1,234,567.89", "1.234.567,89", "1,2345"}
	for tag, want := range map[string][]int64{
		"en-GB": {1250, 1250, 1250, 125000, 125000, noAmount, 125000, noAmount, noAmount, noAmount, noAmount, noAmount, noAmount, 7, 123456789, noAmount, noAmount},
		"en-US": {1250, 1250, 1250, 125000, 125000, noAmount, 125000, noAmount, noAmount, noAmount, noAmount, noAmount, noAmount, 7, 123456789, noAmount, noAmount},
		"de-DE": {1250, 1250, 1250, 125000, noAmount, 125000, noAmount, 125000, noAmount, noAmount, noAmount, noAmount, noAmount, 7, noAmount, 123456789, noAmount},
		"de-AT": {1250, 1250, 1250, 125000, noAmount, 125000, noAmount, 125000, noAmount, noAmount, noAmount, noAmount, noAmount, 7, noAmount, 123456789, noAmount},
		"de-CH": {1250, 1250, 1250, 125000, noAmount, noAmount, noAmount, noAmount, 125000, noAmount, noAmount, noAmount, noAmount, 7, noAmount, noAmount, noAmount},
	} {
		x := textsIn(t, tag)
		for i, text := range typed {
			got, ok := x.parseAmount(text)
			if !ok {
				got = noAmount
			}
			if got != want[i] {
				t.Errorf("%s: %q is %d, want %d", tag, text, got, want[i])
			}
		}
	}
}

// FuzzTypedAmount tests that a typed amount that is accepted is read the same after it was printed, and that no
// locale reads a text differently from another.
func FuzzTypedAmount(f *testing.F) {
	for _, text := range []string{"12.50", "1,250.00", "1.250,00", "1'250", "1 250", "0", "", ".", "9999999999", "1.2.3", "١٢"} {
		f.Add(text)
	}
	p, err := embeddedPages()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var first int64
		known := false
		for _, x := range p.catalogue.texts {
			n, ok := x.parseAmount(text)
			if !ok {
				continue
			}
			if n < 0 || n > mostTyped {
				t.Fatalf("%s: %q is %d", x.language, text, n)
			}
			if known && n != first {
				t.Fatalf("%s: %q is %d, and %d elsewhere", x.language, text, n, first)
			}
			first, known = n, true
			for _, printed := range []string{x.amount(n), grouped(n/100, x.moneyGroup) + x.decimal + x.amount(n)[len(x.amount(n))-2:]} {
				if again, ok := x.parseAmount(printed); !ok || again != n {
					t.Fatalf("%s: %q is printed as %q, which is %d, %v", x.language, text, printed, again, ok)
				}
			}
		}
	})
}

func TestSpellingByLocale(t *testing.T) {
	t.Parallel()
	for tag, want := range map[string]string{"de-DE": "Diese Datei ist zu groß.", "de-AT": "Diese Datei ist zu groß.", "de-CH": "Diese Datei ist zu gross."} {
		if got := textsIn(t, tag).text("library.upload.too_large"); got != want {
			t.Errorf("%s: %q, want %q", tag, got, want)
		}
	}
	if got := textsIn(t, "de-CH").text("appointments.appointment.of", "title", "Gruß", "name", "Strauß"); got != "Gruß, Strauß" {
		t.Errorf("a name is spelled %q", got)
	}
}

// formatUse matches where a format of a time is named, and goLayout a format that no locale changes.
var (
	formatUse = regexp.MustCompile(`(?:\.format\(|timeText\(|\bwhen )"(\w+)"|time\.Hour, "(\w+)", \d`)
	goLayout  = regexp.MustCompile(`\.Format(?:\(| )"[^"]*(?:Jan|Mon|15:04|3:04|05|\b2\b)[^"]*"`)
)

func TestTimesArePrintedByTheLocale(t *testing.T) {
	t.Parallel()
	formats, used := textsIn(t, "en-GB").formats, map[string]bool{}
	var names []string
	for _, pattern := range []string{"*.go", "templates/*.html", "templates/shared/*.html"} {
		matches, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, matches...)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		body, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range goLayout.FindAllString(string(body), -1) {
			t.Errorf("%s: %s does not depend on the locale; use format, timeText or, in templates, when", name, at)
		}
		for _, match := range formatUse.FindAllStringSubmatch(string(body), -1) {
			format := match[1] + match[2]
			used[format] = true
			if formats[format] == nil {
				t.Errorf("%s: no format %q; use one of: %s", name, format, strings.Join(slices.Sorted(maps.Keys(formats)), ", "))
			}
		}
	}
	for format := range formats {
		if !used[format] {
			t.Errorf("the format %s is not used", format)
		}
	}
}
