package reservectl

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
)

// readAll reads all lines of a text. It returns refused lines as "line: message".
func readAll(t testing.TB, format, text string, known columns) (lines []record, refused []string, err error) {
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

func TestCSV(t *testing.T) {
	known := columns{required: [][]string{{"id", "reference"}}, optional: []string{"name", "email"}}
	full := map[string]string{"id": "1", "name": "Zoë", "email": "z@x"}
	for _, tt := range []struct {
		name, text string
		want       []map[string]string
		refused    []string
	}{
		{"an empty file has no lines", "", nil, nil},
		{"a file with only a header has no lines", "id,name\n", nil, nil},
		{"columns are found by name, in any order and spelling", "E-Mail,ID, Name \nz@x,1,Zoë\n", []map[string]string{full}, nil},
		{"a byte order mark before the first name is skipped", "\ufeffid,name,email\n1,Zoë,z@x\n", []map[string]string{full}, nil},
		{"a byte order mark before a quoted name is skipped", "\ufeff\"id\",name,email\n1,Zoë,z@x\n", []map[string]string{full}, nil},
		{"lines can end as on Windows", "id,name,email\r\n1,Zoë,z@x\r\n", []map[string]string{full}, nil},
		{"the last line needs no line break", "id,name,email\n1,Zoë,z@x", []map[string]string{full}, nil},
		{"empty lines are skipped", "id,name,email\n\n1,Zoë,z@x\n\n", []map[string]string{full}, nil},
		{"semicolons can separate values", "id;name;email\n1;Zoë;z@x\n", []map[string]string{full}, nil},
		{"tabs can separate values", "id\tname\temail\n1\tZoë\tz@x\n", []map[string]string{full}, nil},
		{"quoted values can have commas, quotes and line breaks", "id,name\n1,\"a, \"\"b\"\"\nc\"\n2,d\n",
			[]map[string]string{{"id": "1", "name": "a, \"b\"\nc"}, {"id": "2", "name": "d"}}, nil},
		{"spaces around a value are trimmed", "id,name\n 1 , Zoë \n", []map[string]string{{"id": "1", "name": "Zoë"}}, nil},
		{"missing values at the end are empty", "id,name,email\n1\n", []map[string]string{{"id": "1"}}, nil},
		{"unknown columns are ignored", "id,colour,name\n1,red,Zoë\n", []map[string]string{{"id": "1", "name": "Zoë"}}, nil},
		{"columns without a name are ignored", "id,,name,\n1,x,Zoë,\n", []map[string]string{{"id": "1", "name": "Zoë"}}, nil},
		{"the columns of a report are ignored", "refused_line,refused_message,id\n7,bad,1\n", []map[string]string{{"id": "1"}}, nil},
		{"a line with more values than the header is refused", "id,name\n1,Doe, John\n2,x\n3,y,,\n",
			[]map[string]string{{"id": "2", "name": "x"}, {"id": "3", "name": "y"}}, []string{"2: line has 3 values, but the header has 2 columns"}},
		{"a line with a quote in the wrong place is refused, and the next line is read", "id,name\n1,5\" nail\n2,x\n",
			[]map[string]string{{"id": "2", "name": "x"}}, []string{`2: line has a quote (") in the wrong place: put the whole value in quotes, and double each quote inside it`}},
		{"a line with a quote that is not doubled is refused", "id,name\n1,\"a \"b\" c\"\n2,x\n",
			[]map[string]string{{"id": "2", "name": "x"}}, []string{`2: line has a quote (") in the wrong place: put the whole value in quotes, and double each quote inside it`}},
		{"a quote that is never closed refuses all lines after it", "id,name\n1,\"open\n2,x\n3,y\n",
			nil, []string{"2: line opens a quote that is still not closed on line 4"}},
		{"bytes that are not UTF-8 are refused", "id,name\n1,Zo\xeb\n2,x\n", []map[string]string{{"id": "2", "name": "x"}}, []string{"2: name must be UTF-8"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lines, refused, err := readAll(t, formatCSV, tt.text, known)
			if err != nil {
				t.Fatal(err)
			}
			got := make([]map[string]string, len(lines))
			for i, line := range lines {
				got[i] = line.csv
			}
			if !slices.EqualFunc(got, tt.want, maps.Equal) || !slices.Equal(refused, tt.refused) {
				t.Errorf("got %q, refused %q", got, refused)
			}
		})
	}
	for _, tt := range []struct{ name, text, want string }{
		{"a missing required column", "name,e-mail\n", `the header has no column id; it has "name", "e-mail"`},
		{"a column that occurs twice", "id,E-Mail,email\n", `the header has the column "email" twice ("E-Mail" and "email")`},
		{"a misplaced quote in the header", "id,\"na\"me\n", "the header: "},
		{"an unclosed quote in the header", "id,\"name\n1,x\n", "the header: "},
		{"UTF-16", "\xff\xfei\x00d\x00", "the file is UTF-16"},
		{"a row without an end", "id,name\n1,\"" + strings.Repeat("x\n", maxLine/2+4096), "probably a quote is not closed"},
	} {
		t.Run("refuses a file with "+tt.name, func(t *testing.T) {
			if _, _, err := readAll(t, formatCSV, tt.text, known); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v", err)
			}
		})
	}
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
			lines, refused, err := readAll(t, formatNDJSON, tt.text, columns{})
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
		if _, _, err := readAll(t, formatNDJSON, "[{}]", columns{}); err == nil || !strings.Contains(err.Error(), "jq -c") {
			t.Errorf("got %v", err)
		}
	})
}

func TestNearest(t *testing.T) {
	for title, want := range map[string]string{
		"E-Mial": "email", "first nam": "firstname", "Lastnames": "lastname", "shoe size": "", "x": "", "archivd": "archived",
	} {
		t.Run("suggests "+want+" for "+title, func(t *testing.T) {
			if got := customerColumns().nearest(title); got != want {
				t.Errorf("got %q", got)
			}
		})
	}
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
			lines, _, err := readAll(t, format, string(text), customerColumns())
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
