// Package sampledata generates realistic people for the demonstration company and for load data, and small
// files for a library of media. The same number always gives the same person or file.
package sampledata

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"unicode"
)

// Person is a made-up customer.
type Person struct {
	FirstName, LastName, Email, Mobile string
}

// PersonAt returns the n-th person. E-mail addresses are in example.com, and telephone numbers are
// in a range that is reserved for fiction.
func PersonAt(n int) Person {
	r := rand.New(rand.NewPCG(uint64(n), 0x7065726f736e))
	first, last := firstNames[r.IntN(len(firstNames))], lastNames[r.IntN(len(lastNames))]
	if r.IntN(12) == 0 {
		last += "-" + lastNames[r.IntN(len(lastNames))]
	}
	p := Person{FirstName: first, LastName: last}
	p.Email = fmt.Sprintf("%s.%s.%d@example.com", mailbox(first), mailbox(last), n)
	if r.IntN(5) != 0 {
		p.Mobile = fmt.Sprintf("+44 7700 900%03d", r.IntN(1000))
	}
	return p
}

// mailbox turns a name into the local part of an e-mail address.
func mailbox(name string) string {
	var b strings.Builder
	for _, c := range strings.ToLower(name) {
		switch {
		case c < unicode.MaxASCII && (unicode.IsLetter(c) || c == '-'):
			b.WriteRune(c)
		case plain[c] != "":
			b.WriteString(plain[c])
		}
	}
	if b.Len() == 0 {
		return "customer"
	}
	return b.String()
}

// plain maps accented letters to plain ones.
var plain = map[rune]string{
	'á': "a", 'à': "a", 'â': "a", 'ä': "ae", 'å': "a", 'ã': "a", 'æ': "ae", 'ç': "c", 'č': "c", 'ć': "c",
	'é': "e", 'è': "e", 'ê': "e", 'ë': "e", 'ě': "e", 'ę': "e", 'í': "i", 'î': "i", 'ï': "i", 'ı': "i",
	'ł': "l", 'ñ': "n", 'ń': "n", 'ó': "o", 'ô': "o", 'ö': "oe", 'ø': "o", 'õ': "o", 'ř': "r", 'š': "s",
	'ş': "s", 'ß': "ss", 'ú': "u", 'û': "u", 'ü': "ue", 'ů': "u", 'ý': "y", 'ž': "z", 'ż': "z", 'ð': "d", 'þ': "th",
}

var firstNames = []string{
	"Zoë", "Amélie", "José", "Siân", "Niamh", "Björn", "Chloé", "Łukasz", "Søren", "Anaïs", "Renée", "Máire",
	"Olivia", "Amelia", "Isla", "Ava", "Freya", "Grace", "Mia", "Poppy", "Sophie", "Ella", "George", "Arthur",
	"Noah", "Oscar", "Harry", "Leo", "Jack", "Theo", "Finley", "Henry", "Priya", "Aisha", "Fatima", "Yusuf",
	"Omar", "Ngozi", "Chidi", "Kwame", "Mei", "Wei", "Hiroshi", "Yuki", "Anh", "Minh", "Ji-woo", "Arjun",
	"Ravi", "Ananya", "Elif", "Emre", "Ivana", "Jiří", "Zofia", "Mikołaj", "Dmitri", "Oksana", "André", "Inês",
	"Giulia", "Matteo", "Lucía", "Álvaro", "Ingrid", "Jürgen", "Käthe", "Þóra", "Aoife", "Ciarán", "Seren", "D'Arcy",
	"李娜", "محمد", "Ольга", "さくら",
}

var lastNames = []string{
	"O'Brien", "O'Sullivan", "D'Angelo", "N'Dour", "Smith", "Jones", "Taylor", "Brown", "Williams", "Wilson",
	"Johnson", "Davies", "Patel", "Wright", "Walker", "Thompson", "Evans", "Hughes", "Khan", "Lewis", "Müller",
	"Schröder", "García", "Rodríguez", "Martínez", "Hernández", "Fernández", "Núñez", "Peña", "Šimková", "Dvořák",
	"Kowalski", "Wiśniewska", "Nguyễn", "Trần", "Sato", "Yamamoto", "Kim", "Park", "Chen", "Zhang", "Okafor",
	"Adeyemi", "Mensah", "Yılmaz", "Öztürk", "Petrović", "Jovanović", "Ivanova", "Shevchenko", "Björnsdóttir",
	"Sørensen", "Åkesson", "Lindström", "Van der Berg", "De Vries", "Lefèvre", "Béranger", "Rossi", "Esposito",
	"Silva", "Gonçalves", "Ó Briain", "Mac an tSaoir", "Ap Rhys", "MacDonald", "Stewart", "Robertson", "St John",
	"王", "الحسن", "Кузнецова", "田中",
}
