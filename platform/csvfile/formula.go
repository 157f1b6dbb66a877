package csvfile

import (
	"strings"
	"unicode"
)

// Guard returns a text as a cell of a file. A text that a spreadsheet would evaluate as a formula gets a leading
// apostrophe, with which spreadsheets mark text. Unguard returns the text again.
func Guard(text string) string {
	if isFormula(strings.TrimLeft(text, "'")) {
		return "'" + text
	}
	return text
}

// Unguard returns the text of a cell, without the apostrophe of Guard.
func Unguard(cell string) string {
	if text, marked := strings.CutPrefix(cell, "'"); marked && isFormula(strings.TrimLeft(text, "'")) {
		return text
	}
	return cell
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
