package edge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	edgeav1 "reservation.dev/proto/gen/reservation/edge/a/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
)

func TestDecodeJSON(t *testing.T) {
	t.Parallel()
	str := func(s string) *string { return &s }
	good := map[string]struct {
		body string
		want *edgeav1.ProfileUpdate
	}{
		"members by name, and ignores others": {
			`{"firstname":"Zoë","extra":{"a":[1,{"b":null}]},"email":"z@example.com"}`,
			&edgeav1.ProfileUpdate{Firstname: str("Zoë"), Email: str("z@example.com")},
		},
		"null like an absent member":    {`{"firstname":null,"mobile":""}`, &edgeav1.ProfileUpdate{Mobile: str("")}},
		"white space around the object": {" \n{}\t", &edgeav1.ProfileUpdate{}},
		"escapes":                       {`{"firstname":"\u00e9\ud83d\ude00"}`, &edgeav1.ProfileUpdate{Firstname: str("é😀")}},
		"an escaped backslash":          {`{"firstname":"\\ud800\""}`, &edgeav1.ProfileUpdate{Firstname: str(`\ud800"`)}},
	}
	for name, tt := range good {
		t.Run("accepts "+name, func(t *testing.T) {
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
		"an empty body":                            {``, fault.ReasonInvalidJSON, ""},
		"an array":                                 {`[]`, fault.ReasonInvalidJSON, ""},
		"a string":                                 {`"x"`, fault.ReasonInvalidJSON, ""},
		"null":                                     {`null`, fault.ReasonInvalidJSON, ""},
		"an object without its end":                {`{"firstname":"a"`, fault.ReasonInvalidJSON, ""},
		"two values":                               {`{} {}`, fault.ReasonInvalidJSON, ""},
		"a trailing comma":                         {`{"firstname":"a",}`, fault.ReasonInvalidJSON, ""},
		"invalid UTF-8":                            {"{\"firstname\":\"\xff\"}", fault.ReasonInvalidJSON, ""},
		"a member twice":                           {`{"email":"a","email":"b"}`, fault.ReasonInvalidJSON, ""},
		"an unknown member twice":                  {`{"x":1,"x":2}`, fault.ReasonInvalidJSON, ""},
		"a member twice, once escaped":             {`{"email":"a","e\u006dail":"b"}`, fault.ReasonInvalidJSON, ""},
		"a member twice in an unknown object":      {`{"x":{"y":1,"y":2}}`, fault.ReasonInvalidJSON, ""},
		"the first half of a surrogate pair":       {`{"firstname":"a\ud83d"}`, fault.ReasonInvalidJSON, ""},
		"the second half of a surrogate pair":      {`{"firstname":"\ude00"}`, fault.ReasonInvalidJSON, ""},
		"half of a surrogate pair before a letter": {`{"firstname":"\ud83d\u0061"}`, fault.ReasonInvalidJSON, ""},
		"a surrogate pair in the wrong order":      {`{"firstname":"\ude00\ud83d"}`, fault.ReasonInvalidJSON, ""},
		"half of a surrogate pair in a name":       {`{"\ud83d":1}`, fault.ReasonInvalidJSON, ""},
		"excessive nesting":                        {`{"x":` + strings.Repeat("[", 100000) + `}`, fault.ReasonInvalidJSON, ""},
		"a number for a string":                    {`{"firstname":5}`, fault.ReasonValidation, "firstname"},
		"an object for a string":                   {`{"email":{"a":1}}`, fault.ReasonValidation, "email"},
		"an array for a string":                    {`{"lastname":["a"]}`, fault.ReasonValidation, "lastname"},
		"true for a string":                        {`{"mobile":true}`, fault.ReasonValidation, "mobile"},
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
	t.Run("reports all wrong types, also in nested messages and lists", func(t *testing.T) {
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
	t.Run("accepts a whole number with an exponent", func(t *testing.T) {
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
			t.Fatalf("%q was accepted, but is not JSON", body)
		}
		// A message that was read can be written, and reading it again gives the same message.
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

func TestDecodeJSONReportsFifty(t *testing.T) {
	t.Parallel()
	body := `{"dates":[` + strings.Repeat("0,", 4999) + `0],"title":"after them"}`
	got := &edgebv1.EventWrite{}
	f := fault.From(DecodeJSON([]byte(body), got))
	if f == nil || f.Reason != fault.ReasonValidation || len(f.Fields) != 50 || f.Fields[49].Field != "dates[49]" || f.More != 4950 {
		t.Fatalf("got %v", f)
	}
	if got.GetTitle() != "after them" {
		t.Errorf("it stopped reading: %v", got)
	}
}

func TestDecodeJSONEnforcesTheBoundsOfTheProto(t *testing.T) {
	t.Parallel()
	x := func(n int) string { return strings.Repeat("x", n) }
	items := func(item string, n int) string { return "[" + strings.Repeat(item+",", n-1) + item + "]" }
	for name, tt := range map[string]struct {
		body string
		want []string // field and rule of each failed check
	}{
		"texts and lists within their bounds":           {`{"title":"` + x(200) + `","dates":` + items("{}", 5000) + `}`, nil},
		"characters, not bytes":                         {`{"title":"` + strings.Repeat("é", 200) + `"}`, nil},
		"a text that is too long":                       {`{"title":"` + x(201) + `"}`, []string{"title max_length"}},
		"a text that is too long in a list of messages": {`{"pricingOptions":[{},{"name":"` + x(201) + `"}]}`, []string{"pricingOptions[1].name max_length"}},
		"an item of a list that is too long":            {`{"recurrence":{"exceptions":["a","` + x(41) + `"]}}`, []string{"recurrence.exceptions[1] max_length"}},
		"a list that is too long":                       {`{"pricingOptions":` + items("{}", 51) + `}`, []string{"pricingOptions max_items"}},
		"wrong items in a list that is too long":        {`{"recurrence":{"exceptions":` + items("[{}]", 1001) + `},"title":1}`, nil},
		"several failures up to the list": {
			`{"title":"` + x(201) + `","pricingOptions":` + items("{}", 51) + `,"location":7}`,
			[]string{"title max_length", "pricingOptions max_items"},
		},
		"the longest list that fits a request": {`{"pricingOptions":` + items("{}", 340_000) + `}`, []string{"pricingOptions max_items"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := &edgebv1.EventWrite{}
			err := DecodeJSON([]byte(tt.body), m)
			if len(m.GetPricingOptions()) > 50 || len(m.GetDates()) > 5000 || len(m.GetTitle()) > 400 {
				t.Errorf("keeps %d options", len(m.GetPricingOptions()))
			}
			if tt.want == nil {
				if err != nil && len(fault.From(err).Fields) != 50 {
					t.Error(err)
				}
				return
			}
			var got []string
			for _, f := range fault.From(err).Fields {
				got = append(got, f.Field+" "+f.Rule)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	t.Run("a list that is a single value", func(t *testing.T) {
		for body, rule := range map[string]string{
			`{"eligibleEventTypes":` + items(`"class"`, 20) + `}`:      "",
			`{"eligibleEventTypes":` + items(`"class"`, 340_000) + `}`: "max_items",
			`{"eligibleEventTypes":["` + x(41) + `"]}`:                 "max_length",
		} {
			m := &edgebv1.PassWrite{}
			err := DecodeJSON([]byte(body), m)
			if rule == "" && err != nil || rule != "" && (err == nil || fault.From(err).Fields[0].Rule != rule) {
				t.Errorf("%.60s: %v", body, err)
			}
			if len(m.GetEligibleEventTypes().GetValues()) > 20 {
				t.Errorf("%.60s: kept", body)
			}
		}
	})
	t.Run("ignored values", func(t *testing.T) {
		for body, accepted := range map[string]bool{
			`{"x":` + items("1", 9_999) + `}`:     true,
			`{"x":` + items("1", 10_001) + `}`:    false,
			`{"x":` + items("[[1]]", 5_000) + `}`: false,
			`{"title":` + items("1", 340_000):     false, // not even read up to its missing brace
		} {
			err := DecodeJSON([]byte(body), &edgebv1.EventWrite{})
			if refused := err != nil && fault.From(err).Reason == fault.ReasonInvalidJSON; refused == accepted || accepted && err != nil {
				t.Errorf("%.60s: %v", body, err)
			}
		}
	})
	t.Run("wrong items of a list that is a single value", func(t *testing.T) {
		err := DecodeJSON([]byte(`{"eligibleEventTypes":`+items("1", 340_000)+`}`), &edgebv1.PassWrite{})
		if fields := fault.From(err).Fields; len(fields) != 1 || fields[0].Rule != "max_items" {
			t.Errorf("got %v", err)
		}
	})
	t.Run("an object with too many unknown members", func(t *testing.T) {
		var b strings.Builder
		for i := range 1001 {
			fmt.Fprintf(&b, `"x%d":0,`, i)
		}
		err := DecodeJSON([]byte("{"+b.String()+`"title":"x"}`), &edgebv1.EventWrite{})
		if f := fault.From(err); f == nil || f.Reason != fault.ReasonInvalidJSON {
			t.Errorf("got %v", err)
		}
	})
}
