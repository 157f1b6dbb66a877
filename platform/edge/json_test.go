package edge

import (
	"strconv"
	"strings"
	"testing"

	edgeav1 "reservation.dev/proto/gen/reservation/edge/a/v1"
)

func TestAppendJSON(t *testing.T) {
	t.Parallel()
	gross := int64(9007199254740993) // beyond what a float64 holds
	zero := int32(0)
	tests := map[string]struct {
		in   *edgeav1.Booking
		want string
	}{
		"an unset message is absent, everything else is present": {
			&edgeav1.Booking{},
			`{"id":"","type":"","is_cancelled":false,"is_refunded":false,"spaces":0}`,
		},
		"numbers are numbers, of any size": {
			&edgeav1.Booking{Payment: &edgeav1.Payment{Method: "CARD", Base100GrossPrice: &gross}},
			`{"id":"","type":"","is_cancelled":false,"is_refunded":false,"spaces":0,"payment":{"method":"CARD","base100gross_price":9007199254740993}}`,
		},
		"a set optional field is present even if it is zero": {
			&edgeav1.Booking{Payment: &edgeav1.Payment{CreditsUsed: &zero}},
			`{"id":"","type":"","is_cancelled":false,"is_refunded":false,"spaces":0,"payment":{"method":"","credits_used":0}}`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := string(AppendJSON(nil, tt.in)); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
	t.Run("an empty list is an empty array", func(t *testing.T) {
		if got, want := string(AppendJSON(nil, &edgeav1.ListBookingsResponse{})), `{"data":[],"total":0,"page":0,"pageSize":0}`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
	t.Run("the members together are the object", func(t *testing.T) {
		m := &edgeav1.Booking{Id: "a\"b", Payment: &edgeav1.Payment{Method: "CARD"}}
		var texts []string
		for _, member := range Members(m) {
			texts = append(texts, strconv.Quote(member.Name)+":"+string(member.Value))
		}
		if got, want := "{"+strings.Join(texts, ",")+"}", string(AppendJSON(nil, m)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}
