package edge

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	edgeav1 "reservation.dev/proto/gen/reservation/edge/a/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
)

func TestDecodeJSON(t *testing.T) {
	str := func(s string) *string { return &s }
	good := map[string]struct {
		body string
		want *edgeav1.ProfileUpdate
	}{
		"members by name, others ignored": {
			`{"firstname":"Zoë","extra":{"a":[1,{"b":null}]},"email":"z@example.com"}`,
			&edgeav1.ProfileUpdate{Firstname: str("Zoë"), Email: str("z@example.com")},
		},
		"null is like absent": {`{"firstname":null,"mobile":""}`, &edgeav1.ProfileUpdate{Mobile: str("")}},
		"white space around":  {" \n{}\t", &edgeav1.ProfileUpdate{}},
		"escapes":             {`{"firstname":"\u00e9\ud83d\ude00"}`, &edgeav1.ProfileUpdate{Firstname: str("é😀")}},
		"text about escapes":  {`{"firstname":"\\ud800\""}`, &edgeav1.ProfileUpdate{Firstname: str(`\ud800"`)}},
	}
	for name, tt := range good {
		t.Run("takes "+name, func(t *testing.T) {
			got := &edgeav1.ProfileUpdate{}
			if err := DecodeJSON([]byte(tt.body), got); err != nil {
				t.Fatal(err)
			}
			if !proto.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
	bad := map[string]struct{ body, reason, field string }{
		"nothing":                      {``, fault.ReasonInvalidJSON, ""},
		"an array":                     {`[]`, fault.ReasonInvalidJSON, ""},
		"a string":                     {`"x"`, fault.ReasonInvalidJSON, ""},
		"null":                         {`null`, fault.ReasonInvalidJSON, ""},
		"an open object":               {`{"firstname":"a"`, fault.ReasonInvalidJSON, ""},
		"two values":                   {`{} {}`, fault.ReasonInvalidJSON, ""},
		"a trailing comma":             {`{"firstname":"a",}`, fault.ReasonInvalidJSON, ""},
		"invalid UTF-8":                {"{\"firstname\":\"\xff\"}", fault.ReasonInvalidJSON, ""},
		"a member twice":               {`{"email":"a","email":"b"}`, fault.ReasonInvalidJSON, ""},
		"an unknown member twice":      {`{"x":1,"x":2}`, fault.ReasonInvalidJSON, ""},
		"a member twice, one escaped":  {`{"email":"a","e\u006dail":"b"}`, fault.ReasonInvalidJSON, ""},
		"a member twice in an unknown": {`{"x":{"y":1,"y":2}}`, fault.ReasonInvalidJSON, ""},
		"half a character":             {`{"firstname":"a\ud83d"}`, fault.ReasonInvalidJSON, ""},
		"the other half":               {`{"firstname":"\ude00"}`, fault.ReasonInvalidJSON, ""},
		"a half before a letter":       {`{"firstname":"\ud83d\u0061"}`, fault.ReasonInvalidJSON, ""},
		"halves in the wrong order":    {`{"firstname":"\ude00\ud83d"}`, fault.ReasonInvalidJSON, ""},
		"half a character in a name":   {`{"\ud83d":1}`, fault.ReasonInvalidJSON, ""},
		"nesting without end":          {`{"x":` + strings.Repeat("[", 100000) + `}`, fault.ReasonInvalidJSON, ""},
		"a number for a string":        {`{"firstname":5}`, fault.ReasonValidation, "firstname"},
		"an object for a string":       {`{"email":{"a":1}}`, fault.ReasonValidation, "email"},
		"an array for a string":        {`{"lastname":["a"]}`, fault.ReasonValidation, "lastname"},
		"true for a string":            {`{"mobile":true}`, fault.ReasonValidation, "mobile"},
	}
	for name, tt := range bad {
		t.Run("refuses "+name, func(t *testing.T) {
			f := fault.From(DecodeJSON([]byte(tt.body), &edgeav1.ProfileUpdate{}))
			if f == nil || f.Kind != fault.Invalid || f.Reason != tt.reason {
				t.Fatalf("got %v, want %s", f, tt.reason)
			}
			if tt.field != "" && (len(f.Fields) != 1 || f.Fields[0].Field != tt.field || f.Fields[0].Rule != "type") {
				t.Errorf("got fields %v, want %s of rule type", f.Fields, tt.field)
			}
		})
	}
	t.Run("reports all wrong types at once, and reads nested messages and lists", func(t *testing.T) {
		f := fault.From(DecodeJSON([]byte(`{"data":[{"id":1,"bookings":[{"spaces":"x"},{"spaces":1.5},{"spaces":3e9},7]}],"total":true}`), &edgeav1.ListBookingsResponse{}))
		var got []string
		for _, field := range f.Fields {
			got = append(got, field.Field)
		}
		want := "data[0].id data[0].bookings[0].spaces data[0].bookings[1].spaces data[0].bookings[2].spaces data[0].bookings[3] total"
		if strings.Join(got, " ") != want {
			t.Errorf("got %v, want %s", got, want)
		}
	})
	t.Run("takes whole numbers however they are written", func(t *testing.T) {
		got := &edgeav1.Booking{}
		if err := DecodeJSON([]byte(`{"spaces":3e0}`), got); err != nil || got.GetSpaces() != 3 {
			t.Errorf("got %v, %v", got.GetSpaces(), err)
		}
	})
}

func FuzzDecodeJSON(f *testing.F) {
	for _, s := range []string{`{}`, `{"data":[{"bookings":[{"spaces":1,"payment":{"credits_used":2}}]}]}`, `{"data":null}`, `{"a":"\ud800"}`, `{"total":1e400}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		m := &edgeav1.ListBookingsResponse{}
		err := DecodeJSON(body, m)
		if err != nil {
			if f := fault.From(err); f.Kind != fault.Invalid || !utf8.ValidString(f.Message) {
				t.Fatalf("%q: %v", body, err)
			}
			return
		}
		if !json.Valid(body) {
			t.Fatalf("%q was taken and is no JSON", body)
		}
		// What was read can be written, and is read again as the same.
		again := &edgeav1.ListBookingsResponse{}
		written := AppendJSON(nil, m)
		if err := DecodeJSON(written, again); err != nil || !proto.Equal(m, again) {
			t.Fatalf("%q is read as %v, written as %s, and read again as %v (%v)", body, m, written, again, err)
		}
		if bytes.Contains(written, []byte("null")) && !bytes.Contains(body, []byte("null")) {
			t.Fatalf("%q is written with a null: %s", body, written)
		}
	})
}

func TestDecodeJSONReportsAHundred(t *testing.T) {
	body := `{"pricingOptions":[` + strings.Repeat("0,", 5000) + `0],"title":"after them"}`
	got := &edgebv1.EventWrite{}
	f := fault.From(DecodeJSON([]byte(body), got))
	if f == nil || f.Reason != fault.ReasonValidation || len(f.Fields) != 100 || f.Fields[99].Field != "pricingOptions[99]" {
		t.Fatalf("got %v", f)
	}
	if got.GetTitle() != "after them" {
		t.Errorf("it stopped to read: %v", got)
	}
}
