package reservectl

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"reservation.dev/platform/csvfile"
	"reservation.dev/platform/customerfile"
)

// readAll reads all lines of a text. It returns refused lines as "line: message".
func readAll(t testing.TB, format, text string, known csvfile.Columns) (lines []record, refused []string, err error) {
	t.Helper()
	r := &records{format: format, path: "-"}
	if err := r.read(strings.NewReader(text), known); err != nil {
		return nil, nil, err
	}
	for range strings.Count(text, "\n") + 2 {
		line, err := r.next()
		var why refusal
		switch {
		case errors.Is(err, io.EOF):
			return lines, refused, nil
		case errors.As(err, &why):
			refused = append(refused, fmt.Sprint(line.line, ": ", why.sentence()))
		case err != nil:
			return lines, refused, err
		default:
			lines = append(lines, line)
		}
	}
	t.Fatal("there are more lines than the text has")
	return nil, nil, nil
}

func TestNDJSON(t *testing.T) {
	long := `{"a":"` + strings.Repeat("x", maxLine) + `"}`
	for _, tt := range []struct {
		name, text    string
		want, refused []string
	}{
		{"an empty file has no lines", "", nil, nil},
		{"blank lines are skipped", "\n  \n\r\n{}\n", []string{"4 {}"}, nil},
		{"a byte order mark is skipped", "\ufeff{}\n", []string{"1 {}"}, nil},
		{"lines can end as on Windows, and the last needs no line break", "{}\r\n{ }", []string{"1 {}", "2 { }"}, nil},
		{"bytes that are not UTF-8 are refused", "{\"a\":\"\xff\"}\n{}\n", []string{"2 {}"}, []string{"1: line must be UTF-8"}},
		{"a line that is too long is refused, and the next line is read", long + "\n{}\n", []string{"2 {}"}, []string{"1: line must be at most 4 MiB"}},
		{"a last line that is too long is refused", "{}\n" + long, []string{"1 {}"}, []string{"2: line must be at most 4 MiB"}},
		{"a line of the maximum length is read", `{"a":"` + strings.Repeat("x", maxLine-9) + "\"}\n{}", []string{"1 long", "2 {}"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lines, refused, err := readAll(t, formatNDJSON, tt.text, csvfile.Columns{})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, line := range lines {
				text := string(line.raw)
				if len(text) > 100 {
					text = "long"
				}
				got = append(got, fmt.Sprint(line.line, " ", text))
			}
			if !slices.Equal(got, tt.want) || !slices.Equal(refused, tt.refused) {
				t.Errorf("got %q, refused %q", got, refused)
			}
		})
	}
	t.Run("refuses an array and says how to convert it", func(t *testing.T) {
		if _, _, err := readAll(t, formatNDJSON, "[{}]", csvfile.Columns{}); err == nil || !strings.Contains(err.Error(), "jq -c") {
			t.Errorf("got %v", err)
		}
	})
}

// FuzzRecords reads any bytes as both formats. Reading always ends, line numbers increase, and
// each line's text is from the file.
func FuzzRecords(f *testing.F) {
	for _, seed := range []string{
		"", "reference,firstname,lastname,email\nC-1,A,B,a@b\n", "\ufeffreference;firstname;lastname;email\r\n1;\"a;b\";c;d\r\n",
		"reference,firstname,lastname,email\n\"open", "{\"reference\":\"x\"}\n\n{", "[1]", "\xff\xfe", "null\n1\n\"x\"\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, format := range []string{formatCSV, formatNDJSON} {
			lines, _, err := readAll(t, format, string(text), customerfile.Columns())
			if err != nil {
				continue
			}
			at := 0
			for _, line := range lines {
				if line.line <= at {
					t.Errorf("line %d follows line %d", line.line, at)
				}
				at = line.line
				if !bytes.Contains(text, line.raw) {
					t.Errorf("line %d is %q, which is not in the file", line.line, line.raw)
				}
				_, _, _ = readCustomer(line)
				_, _ = readTransactionLine(line)
			}
		}
	})
}
