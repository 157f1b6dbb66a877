package reservectl

import (
	"bytes"
	"encoding/json"
)

// indented is a JSON text over several lines; what is none stays.
func indented(text []byte) []byte {
	var b bytes.Buffer
	if json.Indent(&b, text, "", "  ") != nil {
		return text
	}
	return b.Bytes()
}
