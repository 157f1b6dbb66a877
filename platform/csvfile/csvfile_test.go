package csvfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// readAll reads all rows of a text. It returns refused rows as "line: message".
func readAll(t testing.TB, text string, known Columns) (rows []Row, refused []string, err error) {
	t.Helper()
	r, err := NewReader(strings.NewReader(text), known)
	if err != nil {
		return nil, nil, err
	}
	for range strings.Count(text, "\n") + 2 {
		row, err := r.Read()
		var why *Refusal
		switch {
		case errors.Is(err, io.EOF):
			return rows, refused, nil
		case errors.As(err, &why):
			refused = append(refused, fmt.Sprint(row.Line, ": ", why))
		case err != nil:
			return rows, refused, err
		default:
			rows = append(rows, row)
		}
	}
	t.Fatal("there are more rows than the text has lines")
	return nil, nil, nil
}

func TestReader(t *testing.T) {
	known := Columns{Required: [][]string{{"id", "reference"}}, Optional: []string{"name", "email"}}
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
		{"an apostrophe that marks text is removed", "id,name\n1,'=1\n", []map[string]string{{"id": "1", "name": "=1"}}, nil},
		{"bytes that are not UTF-8 are refused", "id,name\n1,Zo\xeb\n2,x\n", []map[string]string{{"id": "2", "name": "x"}}, []string{"2: name must be UTF-8"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lines, refused, err := readAll(t, tt.text, known)
			if err != nil {
				t.Fatal(err)
			}
			got := make([]map[string]string, len(lines))
			for i, line := range lines {
				got[i] = line.Values
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
		{"a row without an end", "id,name\n1,\"" + strings.Repeat("x\n", MaxRow/2+4096), "probably a quote is not closed"},
	} {
		t.Run("refuses a file with "+tt.name, func(t *testing.T) {
			if _, _, err := readAll(t, tt.text, known); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestNearest(t *testing.T) {
	known := Columns{Required: [][]string{{"reference"}, {"firstname"}, {"lastname"}, {"email"}}, Optional: []string{"mobile", "archived"}}
	for title, want := range map[string]string{
		"E-Mial": "email", "first nam": "firstname", "Lastnames": "lastname", "shoe size": "", "x": "", "archivd": "archived",
	} {
		t.Run("suggests "+want+" for "+title, func(t *testing.T) {
			if got := known.Nearest(title); got != want {
				t.Errorf("got %q", got)
			}
		})
	}
}

// TestFormulas compares the cells of texts with what spreadsheets evaluate.
func TestFormulas(t *testing.T) {
	for _, tt := range []struct{ name, text, cell string }{
		{"an equals sign", "=1+1", "'=1+1"},
		{"a plus sign, as in a telephone number", "+44 7700 900123", "'+44 7700 900123"},
		{"a minus sign", "-2+3", "'-2+3"},
		{"an at sign", "@SUM(A1)", "'@SUM(A1)"},
		{"a tab", "\t1", "'\t1"},
		{"a carriage return", "\r=1", "'\r'=1"},
		{"a line break", "\n=1", "'\n'=1"},
		{"spaces before an equals sign", "  =1", "'  =1"},
		{"a space without a break before an equals sign", "\u00a0=1", "'\u00a0=1"},
		{"characters that are not shown before an equals sign", "\u200b\ufeff\x00=1", "'\u200b\ufeff\x00=1"},
		{"an equals sign in full width", "＝1", "'＝1"},
		{"a plus sign in full width", "＋1", "'＋1"},
		{"a minus sign in full width", "－1", "'－1"},
		{"an at sign in full width", "＠a", "'＠a"},
		{"a call of a program", "=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"},
		{"an apostrophe before an equals sign, which is kept", "'=1", "''=1"},
		{"several apostrophes before an equals sign, which are kept", "''=1", "'''=1"},
	} {
		t.Run("marks as text a cell that begins with "+tt.name, func(t *testing.T) {
			if got := Guard(tt.text); got != tt.cell || Unguard(got) != tt.text {
				t.Errorf("got %q, read as %q", got, Unguard(got))
			}
		})
	}
	for text, cell := range map[string]string{
		"Ann;=1+1;x": "Ann;'=1+1;x", `Ann;"=1"`: `Ann;'"=1"`, "a,@b": "a,'@b", "a\t-1": "a\t'-1", "a\n+1": "a\n'+1", "a;'=1": "a;''=1",
		"a; =1": "a; =1", "a; b, c": "a; b, c",
	} {
		t.Run(fmt.Sprintf("marks the formulas inside %q", text), func(t *testing.T) {
			if got := Guard(text); got != cell || Unguard(got) != text {
				t.Errorf("got %q, read as %q", got, Unguard(got))
			}
		})
	}
	for _, text := range []string{"", " ", "Zoë", "O'Neill", "'t Hooft", "'", "''", "a=b", "1-2", "12.50", "é@x", "(=1)", "#1", "*"} {
		t.Run(fmt.Sprintf("leaves %q unchanged", text), func(t *testing.T) {
			if Guard(text) != text || Unguard(text) != text {
				t.Errorf("got %q and %q", Guard(text), Unguard(text))
			}
		})
	}
}

func TestWriter(t *testing.T) {
	zone := time.FixedZone("", 3600)
	at := time.Date(2026, 3, 29, 8, 30, 0, 5e8, time.UTC)
	var b bytes.Buffer
	w := NewWriter(&b, ',')
	for _, err := range []error{
		w.Begin([]string{"id", "name", "amount"}),
		w.Write(Own("cust_1"), Text("Zoë, \"Z\"\r\nÖ"), Amount(-1205)),
		w.Write(Text("=1"), Int(-3), Amount(7)),
		w.Write(Time(at, zone), UTC(at), Bool(true)),
		w.Write(Time(time.Time{}, zone), UTC(time.Time{}), Own("-1")),
		w.Flush(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	want := Mark + "id,name,amount\ncust_1,\"Zoë, \"\"Z\"\"\nÖ\",-12.05\n'=1,-3,0.07\n2026-03-29T09:30:00,2026-03-29T08:30:00Z,true\n,,-1\n"
	if diff := cmp.Diff(want, b.String()); diff != "" || w.Rows() != 4 {
		t.Errorf("%d rows, -want +got:\n%s", w.Rows(), diff)
	}
}

// FuzzCells writes any texts as cells. The reader returns them, and no cell can be evaluated by a spreadsheet.
func FuzzCells(f *testing.F) {
	for _, seed := range [][3]string{{"", "", ""}, {"=1", "a\"b", "x\ny"}, {"'=1", " \t", "\r"}, {"''", ";", "\ufeff"}, {"a\r\r\n", "\\.", "\u200b-1"}, {"Ann;=1+1;x", "a,\"@b\"", "a\t-1\n'+2"}} {
		f.Add(seed[0], seed[1], seed[2], false)
		f.Add(seed[0], seed[1], seed[2], true)
	}
	f.Fuzz(func(t *testing.T, one, two, three string, semicolons bool) {
		texts, comma := []string{one, two, three}, ','
		if semicolons {
			comma = ';'
		}
		for _, text := range texts {
			if !utf8.ValidString(text) || len(text) > MaxRow/8 {
				t.Skip()
			}
		}
		var b bytes.Buffer
		w := NewWriter(&b, comma)
		if err := w.Begin([]string{"first", "second", "third"}); err != nil {
			t.Fatal(err)
		}
		if err := w.Write(Text(one), Text(two), Text(three)); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		rows, refused, err := readAll(t, b.String(), Columns{Optional: []string{"first", "second", "third"}})
		if err != nil || len(refused) > 0 || len(rows) != 1 {
			t.Fatalf("%d rows, refused %q: %v\n%q", len(rows), refused, err, b.String())
		}
		for i, text := range texts {
			if want := unixLines(text); rows[0].Cells[i] != want {
				t.Errorf("cell %d is %q, not %q", i, rows[0].Cells[i], want)
			}
			if cell := Guard(text); isFormula(cell) {
				t.Errorf("%q can be evaluated", cell)
			}
			// With other settings, a spreadsheet divides the cell.
			for _, piece := range strings.FieldsFunc(Guard(text), func(c rune) bool { return strings.ContainsRune(";,\t\r\n", c) }) {
				if piece = strings.TrimLeft(piece, `"`); isFormula(piece) && piece[0] != ' ' {
					t.Errorf("the piece %q of %q can be evaluated", piece, text)
				}
			}
		}
	})
}

// FuzzReader reads any bytes. Reading always ends, line numbers increase, and each row's text is from the file.
func FuzzReader(f *testing.F) {
	for _, seed := range []string{"", "id,name\n1,Zoë\n", "\ufeffid;name\r\n1;\"a;b\"\r\n", "id,name\n\"open", "\xff\xfe", "id\n'=1\n"} {
		f.Add([]byte(seed))
	}
	known := Columns{Required: [][]string{{"id"}}, Optional: []string{"name"}}
	f.Fuzz(func(t *testing.T, text []byte) {
		rows, _, err := readAll(t, string(text), known)
		if err != nil {
			return
		}
		at := 0
		for _, row := range rows {
			if row.Line <= at || !bytes.Contains(text, row.Raw) {
				t.Errorf("row %q on line %d follows line %d", row.Raw, row.Line, at)
			}
			at = row.Line
		}
	})
}
