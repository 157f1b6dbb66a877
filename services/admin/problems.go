package admin

import "regexp"

// problems are the words with which services refuse a field, and their messages. Each group of a pattern is the
// argument with its name.
var problems = []struct {
	pattern *regexp.Regexp
	id      string
}{
	{regexp.MustCompile(`^is required$`), "refusals.problem.required"},
	{regexp.MustCompile(`^does not exist$`), "refusals.problem.missing"},
	{regexp.MustCompile(`^must be at least (?P<least>\d+) characters$`), "refusals.problem.short"},
	{regexp.MustCompile(`^must be at most (?P<most>\d+) characters$`), "refusals.problem.long"},
	{regexp.MustCompile(`^must not contain control characters$`), "refusals.problem.control"},
	{regexp.MustCompile(`^must not contain control characters other than line breaks and tabs$`), "refusals.problem.control_prose"},
	{regexp.MustCompile(`^must be (?P<least>\d+) to (?P<most>\d+)$`), "refusals.problem.range"},
	{regexp.MustCompile(`^must be (?P<least>\d+) or more$`), "refusals.problem.small"},
	{regexp.MustCompile(`^must have at most (?P<most>\d+) items$`), "refusals.problem.items"},
	{regexp.MustCompile(`^is in the list twice$`), "refusals.problem.twice"},
	{regexp.MustCompile(`^must be an e-mail address$`), "refusals.problem.email"},
	{regexp.MustCompile(`^must be an IANA time zone`), "refusals.problem.timezone"},
	{regexp.MustCompile(`^must begin with https://$`), "refusals.problem.https"},
	{regexp.MustCompile(`^must be today or later$`), "refusals.problem.past"},
	{regexp.MustCompile(`^must not be in the future$`), "refusals.problem.future"},
	{regexp.MustCompile(`^must not be before the start date$`), "refusals.problem.before_start"},
	{regexp.MustCompile(`^is already used by another pricing option of the event$`), "refusals.problem.name_used"},
	// Of rows that an import refuses.
	{regexp.MustCompile(`^must be a whole number from (?P<least>\d+) to (?P<most>\d+)$`), "refusals.problem.whole_number"},
	{regexp.MustCompile(`^must be true or false$`), "refusals.problem.flag"},
	{regexp.MustCompile(`^must be an amount such as 12\.50$`), "refusals.problem.amount"},
	{regexp.MustCompile(`^must be a date or a date-time, for example 2026-03-29T09:30:00$`), "refusals.problem.moment"},
	{regexp.MustCompile(`^no customer with the e-mail address (?P<email>“.*”)$`), "refusals.problem.no_email"},
	{regexp.MustCompile(`^no customer with the identifier or reference (?P<id>“.*”)$`), "refusals.problem.no_reference"},
	{regexp.MustCompile(`^no customer: fill in (?P<email>\S+) or (?P<id>\S+)$`), "refusals.problem.no_customer"},
	{regexp.MustCompile(`^several customers with the e-mail address (?P<email>“.*”): fill in (?P<id>\S+)$`), "refusals.problem.several_customers"},
	{regexp.MustCompile(`^belongs to the same purchase as line (?P<line>\d+), which is refused$`), "refusals.problem.same_purchase"},
	{regexp.MustCompile(`^is the same as in line (?P<line>\d+)$`), "refusals.problem.same_reference"},
	{regexp.MustCompile(`^a purchase can have at most (?P<most>\d+) bookings$`), "refusals.problem.most_bookings"},
	{regexp.MustCompile(`^another purchaser than in the rows before: a purchase has one$`), "refusals.problem.another_purchaser"},
}

// problemText says what is wrong with a field, as a service says it. Words that are not in problems are those of the
// service, in English.
func problemText(words string) *message {
	for _, p := range problems {
		found := p.pattern.FindStringSubmatch(words)
		if found == nil {
			continue
		}
		var args []any
		for i, name := range p.pattern.SubexpNames()[1:] {
			args = append(args, name, found[i+1])
		}
		return &message{id: p.id, args: args}
	}
	return literal(withFullStop(words))
}
