package customer

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

func TestEveryMessageHasEveryField(t *testing.T) {
	for _, m := range []proto.Message{
		&customerv1.Customer{}, &customerv1.CustomerSnapshot{}, &customerv1.CreateCustomerRequest{},
		&customerv1.UpdateCustomerRequest{}, &customerv1.ImportedCustomer{},
	} {
		message := m.ProtoReflect().Descriptor()
		for _, f := range fields() {
			if w := message.Fields().ByName(protoreflect.Name(f.name)); w == nil || w.Kind() != protoreflect.StringKind {
				t.Errorf("%s has no text %s", message.Name(), f.name)
			}
		}
	}
	c := Customer{}
	for _, f := range fields() {
		*f.value(&c) = f.name
	}
	for _, m := range []proto.Message{message(c), snapshot(c)} {
		if got := readFields(m); len(got) != len(fields()) {
			t.Errorf("%T has only %v", m, got)
		}
	}
	for _, f := range fields() {
		if _, ok := customerv1.CustomerField_value["CUSTOMER_FIELD_"+strings.ToUpper(f.name)]; !ok {
			t.Errorf("CustomerField has no value for %s", f.name)
		}
	}
}
