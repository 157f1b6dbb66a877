package bounds_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"reservation.dev/platform/bounds"
	"reservation.dev/platform/fault"
	_ "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	edgeav1 "reservation.dev/proto/gen/reservation/edge/a/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
	_ "reservation.dev/proto/gen/reservation/pass/v1"
	_ "reservation.dev/proto/gen/reservation/privacy/v1"
	_ "reservation.dev/proto/gen/reservation/webhook/v1"
)

// requests returns the request messages of every RPC of the platform, and the request
// bodies that the gateways decode without an RPC.
func requests() []protoreflect.MessageDescriptor {
	list := []protoreflect.MessageDescriptor{
		(&edgeav1.TokenRequest{}).ProtoReflect().Descriptor(), (&edgebv1.TokenRequest{}).ProtoReflect().Descriptor(),
	}
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		if !strings.HasPrefix(string(file.Package()), "reservation.") {
			return true
		}
		for i := range file.Services().Len() {
			methods := file.Services().Get(i).Methods()
			for j := range methods.Len() {
				list = append(list, methods.Get(j).Input())
			}
		}
		return true
	})
	return list
}

func TestRequestFieldsHaveBounds(t *testing.T) {
	t.Parallel()
	checker, err := bounds.NewChecker()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[protoreflect.FullName]bool{}
	var visit func(m protoreflect.MessageDescriptor)
	visit = func(m protoreflect.MessageDescriptor) {
		if seen[m.FullName()] || m.ParentFile().Package() == "google.protobuf" { // instants and durations
			return
		}
		seen[m.FullName()] = true
		if message, err := protoregistry.GlobalTypes.FindMessageByName(m.FullName()); err != nil || checker.Prepare(message) != nil {
			t.Errorf("%s: %v, %v", m.FullName(), err, checker.Prepare(message))
		}
		for i := range m.Fields().Len() {
			fd := m.Fields().Get(i)
			b := bounds.Of(fd)
			if (fd.IsList() || fd.IsMap()) && b.Items == 0 {
				t.Errorf("%s has no max_items", fd.FullName())
			}
			switch fd.Kind() {
			case protoreflect.StringKind, protoreflect.BytesKind:
				if b.Characters == 0 && b.Bytes == 0 {
					t.Errorf("%s has no max_len", fd.FullName())
				}
			case protoreflect.MessageKind:
				visit(fd.Message())
			}
		}
	}
	list := requests()
	for _, m := range list {
		visit(m)
	}
	if len(list) < 100 || len(seen) < len(list) {
		t.Errorf("found only %d requests and %d messages", len(list), len(seen))
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	checker, err := bounds.NewChecker()
	if err != nil {
		t.Fatal(err)
	}
	x := func(n int) string { return strings.Repeat("x", n) }
	for name, tt := range map[string]struct {
		message proto.Message
		want    []string // field, rule and phrase of each failed check
	}{
		"accepts fields within their bounds": {
			&customerv1.CreateCustomerRequest{FirstName: x(100), LastName: strings.Repeat("é", 100), Email: x(254)}, nil,
		},
		"counts the characters of a text, not its bytes": {
			&customerv1.CreateCustomerRequest{FirstName: strings.Repeat("é", 101)}, []string{"first_name max_length must be at most 100 characters"},
		},
		"counts the bytes of an e-mail address": {
			&customerv1.CreateCustomerRequest{Email: strings.Repeat("é", 128)}, []string{"email max_length must be at most 254 bytes"},
		},
		"accepts an optional text that is empty": {&customerv1.UpdateCustomerRequest{Mobile: proto.String("")}, nil},
		"refuses a list with too many items": {
			&customerv1.BatchGetCustomersRequest{Ids: make([]string, 5001)}, []string{"ids max_items must have at most 5000 items"},
		},
		"refuses an item that is too long": {
			&customerv1.BatchGetCustomersRequest{Ids: []string{"", x(101)}}, []string{"ids[1] max_length must be at most 100 characters"},
		},
		"reports the fields of nested messages": {
			&bookingv1.CreateEventRequest{
				Title: x(201), PricingOptions: []*bookingv1.NewPricingOption{{}, {Name: x(201)}},
				Recurrence: &bookingv1.Recurrence{Rule: x(501), Exceptions: []string{x(41)}},
			},
			[]string{
				"title max_length must be at most 200 characters", "pricing_options[1].name max_length must be at most 200 characters",
				"recurrence.rule max_length must be at most 500 characters", "recurrence.exceptions[0] max_length must be at most 40 characters",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := checker.Check(tt.message)
			if tt.want == nil {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			var got []string
			for _, f := range fault.From(err).Fields {
				got = append(got, f.Field+" "+f.Rule+" "+f.Message)
			}
			if strings.Join(got, "\n") != strings.Join(tt.want, "\n") {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
	t.Run("reports only the first violation of a large message", func(t *testing.T) {
		t.Parallel()
		many := &customerv1.ImportCustomersRequest{}
		for range 100 {
			many.Customers = append(many.Customers, &customerv1.ImportedCustomer{FirstName: x(10_001)})
		}
		f := fault.From(checker.Check(many))
		if len(f.Fields) != 1 || f.Fields[0].Field != "customers[0].first_name" {
			t.Errorf("got %v", f.Fields)
		}
	})
	t.Run("lists 50 violations and counts the others", func(t *testing.T) {
		t.Parallel()
		many := &customerv1.BatchGetCustomersRequest{}
		for range 200 {
			many.Ids = append(many.Ids, x(101))
		}
		f := fault.From(checker.Check(many))
		if len(f.Fields) != 50 || f.More != 150 {
			t.Errorf("lists %d and counts %d", len(f.Fields), f.More)
		}
	})
}

// BenchmarkCheck measures the cost for each call.
func BenchmarkCheck(b *testing.B) {
	checker, err := bounds.NewChecker()
	if err != nil {
		b.Fatal(err)
	}
	id := "cust_01jb0000000000000000000000"
	batch := &customerv1.BatchGetCustomersRequest{}
	for range 5000 {
		batch.Ids = append(batch.Ids, id)
	}
	for name, m := range map[string]proto.Message{
		"get": &customerv1.GetCustomerRequest{Id: id},
		"purchase": &bookingv1.CreateTransactionRequest{
			PurchaserId: id, PaymentReference: "ch_1", Lines: []*bookingv1.TransactionLine{{EventDateId: id, PricingOptionId: id, Spaces: 1}},
		},
		"batch": batch,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := checker.Check(m); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
