package edge

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
	edgev1 "reservation.dev/proto/gen/reservation/edge/v1"
)

func TestValues(t *testing.T) {
	t.Parallel()
	five := int32(5)
	text := "a\"b"
	t.Run("are written as single values", func(t *testing.T) {
		event := &edgebv1.Event{
			Capacity: &edgev1.NullableInt{}, SpotsAvailable: &edgev1.NullableInt{Value: &five},
			PricingOptions: []*edgebv1.PricingOption{{Price: &edgev1.Amount{Minor: 1205}, TaxRate: &edgev1.Percentage{BasisPoints: 1750}, Credits: &edgev1.NullableInt{}}},
		}
		got := string(AppendJSON(nil, event))
		for _, want := range []string{`"capacity":null`, `"spotsAvailable":5`, `"price":12.05`, `"taxRate":17.5`, `"credits":null`} {
			if !strings.Contains(got, want) {
				t.Errorf("%s is missing in %s", want, got)
			}
		}
		if strings.Contains(got, "freeCancellationMinutes") {
			t.Errorf("an unset member is present: %s", got)
		}
		if got := string(AppendJSON(nil, &edgebv1.Registration{PassUsed: &edgev1.NullableText{Value: &text}, CancelledAt: &edgev1.NullableText{}})); !strings.Contains(got, `"passUsed":"a\"b"`) || !strings.Contains(got, `"cancelledAt":null`) {
			t.Errorf("got %s", got)
		}
	})
	t.Run("are read from single values; null is a value of nullable ones", func(t *testing.T) {
		m := &edgebv1.EventWrite{}
		err := DecodeJSON([]byte(`{"capacity":null,"dates":[{"capacity":7}],"pricingOptions":[{"price":12.5,"taxRate":20,"credits":null}],"unknown":[{"a":[1]}]}`), m)
		if err != nil || m.GetCapacity() == nil || m.GetCapacity().Value != nil || m.GetDates()[0].GetCapacity().GetValue() != 7 ||
			m.GetFreeCancellationMinutes() != nil || m.GetPricingOptions()[0].GetPrice().GetMinor() != 1250 ||
			m.GetPricingOptions()[0].GetTaxRate().GetBasisPoints() != 2000 || m.GetPricingOptions()[0].GetCredits() == nil {
			t.Errorf("got %v, %v", m, err)
		}
		p := &edgebv1.PassWrite{}
		if err := DecodeJSON([]byte(`{"price":null,"eligibleEventTypes":["class","a"]}`), p); err != nil || p.GetPrice() != nil || len(p.GetEligibleEventTypes().GetValues()) != 2 {
			t.Errorf("got %v, %v", p, err)
		}
		if err := DecodeJSON([]byte(`{"eligibleEventTypes":[]}`), p); err != nil {
			t.Error(err)
		}
		refund := &edgebv1.RefundWrite{}
		if f := fault.From(DecodeJSON([]byte(`{"amount":null}`), refund)); f == nil || len(f.Fields) != 1 || f.Fields[0].Rule != "type" {
			t.Errorf("a refund of null: got %v", f)
		}
		if err := DecodeJSON([]byte(`{"amount":12.5}`), refund); err != nil || refund.GetAmount().GetMinor() != 1250 {
			t.Errorf("got %v, %v", refund, err)
		}
	})
	t.Run("of a wrong type or size are all reported", func(t *testing.T) {
		body := `{"title":5,"capacity":"x","pricingOptions":[{"price":"1","taxRate":1.234,"credits":1.5},{"price":1e30},{"price":[{"a":1}],"credits":99999999999}]}`
		err := DecodeJSON([]byte(body), &edgebv1.EventWrite{})
		var got []string
		for _, f := range fault.From(err).Fields {
			got = append(got, f.Field+":"+f.Rule)
		}
		want := "title:type capacity:type pricingOptions[0].price:type pricingOptions[0].taxRate:decimals pricingOptions[0].credits:type " +
			"pricingOptions[1].price:range pricingOptions[2].price:type pricingOptions[2].credits:type"
		if strings.Join(got, " ") != want {
			t.Errorf("got %v", got)
		}
		err = DecodeJSON([]byte(`{"eligibleEventTypes":["a",1,{"b":[]}]}`), &edgebv1.PassWrite{})
		if f := fault.From(err); f == nil || len(f.Fields) != 1 || f.Fields[0].Field != "eligibleEventTypes" {
			t.Errorf("got %v", err)
		}
	})
}

func TestHundredths(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"0": "0", "-0": "0", "0.00": "0", "12": "1200", "12.5": "1250", "12.50": "1250", "12.500000": "1250", "-3.07": "-307",
		"1e2": "10000", "1.25e1": "1250", "125e-1": "1250", "1E+2": "10000", "0.1e1": "100", "0e999999999": "0",
		"0.001": "decimals", "1e-3": "decimals", "1e-99999999999": "decimals", "12.345": "decimals",
		"1e16": "range", "99999999999999999": "range", "1e99999999999": "range", "9999999999999999.99": "999999999999999999",
	} {
		n, rule := hundredths(text)
		if got := rule; got == "" {
			got = fmt.Sprint(n)
			if got != want {
				t.Errorf("%s: got %s, want %s", text, got, want)
			}
		} else if got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// FuzzHundredths compares the amounts that it reads with exact rational numbers.
func FuzzHundredths(f *testing.F) {
	for _, seed := range []string{"1", "-1.5", "1e2", "0.125", "1e-2"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m := &edgebv1.PassWrite{}
		err := DecodeJSON([]byte(`{"price":`+text+`}`), m)
		if err != nil || m.GetPrice() == nil || len(text) > 60 {
			return
		}
		exact, ok := new(big.Rat).SetString(strings.TrimSpace(text))
		if !ok {
			return // text contains further members
		}
		if want := new(big.Rat).SetFrac64(m.GetPrice().GetMinor(), 100); exact.Cmp(want) != 0 {
			t.Errorf("%q became %d", text, m.GetPrice().GetMinor())
		}
		again := &edgebv1.PassWrite{}
		if err := DecodeJSON(AppendJSON(nil, m), again); err != nil || !proto.Equal(m, again) {
			t.Errorf("%q: %v became %v, %v", text, m, again, err)
		}
	})
}
