package fault_test

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
)

// wireSize returns the size of a fault in the trailers of a call, as HTTP/2 counts it.
func wireSize(t *testing.T, err error) int {
	t.Helper()
	st := fault.Status(err)
	details, marshalErr := proto.Marshal(st.Proto())
	if marshalErr != nil {
		t.Fatal(marshalErr)
	}
	size := 0
	for name, value := range map[string]string{
		"grpc-status": "13", "grpc-message": url.PathEscape(st.Message()),
		"grpc-status-details-bin": base64.StdEncoding.EncodeToString(details),
		"x-request-id":            strings.Repeat("x", 128),
	} {
		size += len(name) + len(value) + 32
	}
	return size
}

func TestFaultsAreBounded(t *testing.T) {
	t.Parallel()
	many := make([]fault.Field, 340_000)
	for i := range many {
		many[i] = fault.Field{Field: fmt.Sprintf("lines[%d].spaces", i), Rule: "range", Message: "must be 1 to 1000"}
	}
	long := strings.Repeat("\u00e9\"", 2_000)
	meta := map[string]string{}
	for i := range 1000 {
		meta[fmt.Sprintf("%d %s", i, long)] = long
	}
	t.Run("lists 50 failed checks and counts the others", func(t *testing.T) {
		t.Parallel()
		for _, f := range []*fault.Error{fault.InvalidFields(many...), overTheWire(fault.InvalidFields(many...))} {
			if len(f.Fields) != 50 || f.More != len(many)-50 || !reflect.DeepEqual(f.Fields, many[:50]) {
				t.Errorf("lists %d and counts %d", len(f.Fields), f.More)
			}
		}
	})
	t.Run("keeps the count through every hop and renaming", func(t *testing.T) {
		t.Parallel()
		f := fault.InvalidFields(many...)
		got := overTheWire(fault.Status(overTheWire(f).Rename(map[string]string{"lines[0].spaces": "spots"})).Err())
		if got.More != f.More || got.Fields[0].Field != "spots" || got.Message != "spots must be 1 to 1000" {
			t.Errorf("got %d more, %q", got.More, got.Message)
		}
	})
	t.Run("fits the headers that every client accepts", func(t *testing.T) {
		t.Parallel()
		wide := make([]fault.Field, 1000)
		for i := range wide {
			wide[i] = fault.Field{Field: long, Rule: long, Message: long}
		}
		for name, f := range map[string]*fault.Error{
			"fields":         fault.InvalidFields(wide...),
			"set fields":     {Kind: fault.Refused, Reason: long, Message: long, Fields: wide},
			"facts":          {Kind: fault.Refused, Reason: long, Message: long, Meta: meta},
			"all":            {Kind: fault.Refused, Reason: long, Message: long, Meta: meta, Fields: wide, RetryAfter: 1},
			"short fields":   fault.InvalidFields(many...),
			"a long message": fault.Missing(long),
		} {
			if size := wireSize(t, f); size > fault.MaxWire {
				t.Errorf("%s: %d bytes", name, size)
			}
			got := overTheWire(f)
			if got.Kind != f.Kind || !utf8.ValidString(got.Message) || len(f.Fields) > 0 && len(got.Fields) == 0 {
				t.Errorf("%s: arrives as %v with %d fields", name, got.Kind, len(got.Fields))
			}
			if f.Fields != nil && len(got.Fields)+got.More != len(f.Fields)+f.More {
				t.Errorf("%s: lists %d and counts %d", name, len(got.Fields), got.More)
			}
		}
	})
	t.Run("collects any number of failed checks in the memory of 50", func(t *testing.T) {
		t.Parallel()
		var c fault.Checks
		for range 340_000 {
			c.Add("pricing_options[7].name", "required", "is required")
		}
		c.AddFirst("title", "required", "is required")
		f := fault.From(c.Err())
		if c.Len() != 340_001 || c.List()[0].Field != "title" || len(c.List()) != 50 || len(f.Fields)+f.More != 340_001 {
			t.Errorf("collected %d, lists %d, counts %d", c.Len(), len(f.Fields), f.More)
		}
	})
	t.Run("does not change an ordinary fault", func(t *testing.T) {
		t.Parallel()
		f := fault.InvalidFields(fault.Field{Field: "email", Rule: "required", Message: "is required"})
		if f.More != 0 || len(f.Fields) != 1 || f.Message != "email is required" {
			t.Errorf("got %+v", f)
		}
		if (&fault.Checks{}).Err() != nil {
			t.Error("no failed check is an error")
		}
	})
}
