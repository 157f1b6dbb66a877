package admin

import (
	"testing"

	"reservation.dev/platform/fault"
)

func TestProblemsOfFields(t *testing.T) {
	t.Parallel()
	english, german := textsIn(t, "en-GB"), textsIn(t, "de-DE")
	for words, want := range map[string]string{
		"is required": "muss ausgefüllt sein.", "must be at most 2000 characters": "höchstens 2000 Zeichen sind möglich.", "must be 1 to 90": "möglich ist 1 bis 90.",
		"must be an IANA time zone, for example Europe/London": "das ist keine IANA-Zeitzone wie Europe/Berlin.", "must rhyme": "must rhyme.",
		"no customer with the e-mail address “a@example.com”":                            "niemand hat die E-Mail-Adresse “a@example.com”.",
		"several customers with the e-mail address “a@example.com”: fill in customer_id": "mehrere haben die E-Mail-Adresse “a@example.com”: füllen Sie customer_id aus.",
		"belongs to the same purchase as line 7, which is refused":                       "gehört zum selben Kauf wie Zeile 7, die abgelehnt wird.",
		"must be an amount such as 12.50":                                                "das ist kein Betrag wie 12.50.",
		"must be a date or a date-time, for example 2026-03-29T09:30:00":                 "das ist kein Datum und keine Zeit wie 2026-03-29T09:30:00.",
	} {
		if got := english.text(problemText(words)); got != words+"." {
			t.Errorf("%q is %q in English", words, got)
		}
		if got := german.text(problemText(words)); got != want {
			t.Errorf("%q is %q in German, want %q", words, got, want)
		}
	}
}

func TestProblemsOfSpans(t *testing.T) {
	t.Parallel()
	english, german := textsIn(t, "en-GB"), textsIn(t, "de-DE")
	for rule, want := range map[string][2]string{
		"order": {"The last day must not be before the first day.", "Der letzte Tag darf nicht vor dem ersten liegen."},
		"range": {"The span is too long. Choose a shorter one.", "Der Zeitraum ist zu lang. Wählen Sie einen kürzeren."},
	} {
		refusal := fault.InvalidParameter("span.to", rule, "is wrong")
		if got := [2]string{english.text(sentence(refusal)), german.text(sentence(refusal))}; got != want {
			t.Errorf("%s: got %q", rule, got)
		}
	}
}
