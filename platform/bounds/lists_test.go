package bounds_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/bounds"
	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

func TestCheckLists(t *testing.T) {
	t.Parallel()
	checker, err := bounds.NewChecker()
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("x", 5000) // large enough that its lists are counted
	bookings := func(n int) []*bookingv1.ImportedBooking {
		list := make([]*bookingv1.ImportedBooking, n)
		for i := range list {
			list[i] = &bookingv1.ImportedBooking{}
		}
		return list
	}
	transactions := func(n, each int) *bookingv1.ImportTransactionsRequest {
		in := &bookingv1.ImportTransactionsRequest{}
		for range n {
			in.Transactions = append(in.Transactions, &bookingv1.ImportedTransaction{Bookings: bookings(each)})
		}
		return in
	}
	deep := transactions(3, 1)
	deep.Transactions[1].Bookings = bookings(5000)
	for name, tt := range map[string]struct {
		message proto.Message
		want    string
	}{
		"accepts lists within their bounds":                {&customerv1.BatchGetCustomersRequest{Ids: make([]string, 5000), References: make([]string, 5000)}, ""},
		"refuses a list with too many items":               {&customerv1.BatchGetCustomersRequest{Ids: make([]string, 5001)}, "ids"},
		"refuses a list in an item":                        {deep, "transactions[1].bookings"},
		"refuses a list in a nested message":               {&bookingv1.CreateEventRequest{Recurrence: &bookingv1.Recurrence{Rule: text, Exceptions: make([]string, 1001)}}, "recurrence.exceptions"},
		"counts packed items":                              {&webhookv1.CreateEndpointRequest{Description: text, Events: make([]webhookv1.EventType, 101)}, "events"},
		"accepts a message without lists":                  {&bookingv1.CancelEventRequest{Reason: text}, ""},
		"accepts the largest number of items in all lists": {transactions(1000, 99), ""},
		"refuses lists that multiply":                      {transactions(5000, 100), "transactions[990].bookings"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			encoded, err := proto.Marshal(tt.message)
			if err != nil {
				t.Fatal(err)
			}
			err = checker.CheckLists(encoded, tt.message.ProtoReflect().Descriptor())
			if tt.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			f := fault.From(err)
			if f == nil || len(f.Fields) != 1 || f.Fields[0].Field != tt.want || f.Fields[0].Rule != bounds.RuleItems {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

// FuzzCheckLists compares the items counted in an encoded message with those in the
// decoded message.
func FuzzCheckLists(f *testing.F) {
	checker, err := bounds.NewChecker()
	if err != nil {
		f.Fatal(err)
	}
	padding, _ := proto.Marshal(&bookingv1.CreateEventRequest{Description: strings.Repeat("x", 5000)})
	for _, n := range []int{0, 1, 50, 51} {
		seed, _ := proto.Marshal(&bookingv1.CreateEventRequest{PricingOptions: make([]*bookingv1.NewPricingOption, n)})
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, encoded []byte) {
		m := &bookingv1.CreateEventRequest{}
		whole := append(padding[:len(padding):len(padding)], encoded...)
		if proto.Unmarshal(whole, m) != nil {
			return
		}
		tooMany := len(m.GetDates()) > 1000 || len(m.GetPricingOptions()) > 50
		if checker.CheckLists(whole, m.ProtoReflect().Descriptor()) == nil && tooMany {
			t.Errorf("accepts %d dates and %d options", len(m.GetDates()), len(m.GetPricingOptions()))
		}
	})
}
