package csvfile

import (
	"iter"
	"strings"
	"unicode"
)

// Guard returns a text as a cell of a file. A text that a spreadsheet would evaluate as a formula gets a leading
// apostrophe, with which spreadsheets mark text. So does a formula after a character at which a spreadsheet with
// other settings divides the file. Unguard returns the text again.
func Guard(text string) string {
	var b strings.Builder
	for at, piece := range pieces(text) {
		if isGuarded(at, piece) {
			b.WriteByte('\'')
		}
		b.WriteString(piece)
	}
	return b.String()
}

// Unguard returns the text of a cell, without the apostrophes of Guard.
func Unguard(cell string) string {
	var b strings.Builder
	for at, piece := range pieces(cell) {
		if rest, marked := strings.CutPrefix(piece, "'"); marked && isGuarded(at, rest) {
			piece = rest
		}
		b.WriteString(piece)
	}
	return b.String()
}

// dividers are the characters at which spreadsheets divide files into rows and cells.
const dividers = ";,\t\r\n"

// pieces divides a text after each divider, and returns each piece with its place in the text.
func pieces(text string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		at := 0
		for at < len(text) {
			end := len(text)
			if i := strings.IndexAny(text[at:], dividers); i >= 0 {
				end = at + i + 1
			}
			if !yield(at, text[at:end]) {
				return
			}
			at = end
		}
	}
}

// isGuarded reports whether a piece gets an apostrophe. Quotes do not count, because they can disappear. A space at the
// beginning of a later piece makes it a text.
func isGuarded(at int, piece string) bool {
	piece = strings.TrimLeft(piece, `'"`)
	return isFormula(piece) && (at == 0 || !strings.ContainsAny(piece[:1], " \t\r\n"))
}

// isFormula reports whether a spreadsheet can take a cell for a formula: it begins with =, +, - or @, also in full
// width and after characters that are not shown, or with a tab or a line break.
func isFormula(cell string) bool {
	for _, c := range cell {
		switch c {
		case '\t', '\r', '\n', '=', '+', '-', '@', '＝', '＋', '－', '＠', '﹦', '﹢', '﹣', '﹫', '−':
			return true
		}
		if !unicode.IsSpace(c) && !unicode.IsControl(c) && !unicode.Is(unicode.Cf, c) {
			return false
		}
	}
	return false
}
