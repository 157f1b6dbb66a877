package gatewaya

import (
	"testing"

	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

func TestEveryExportedMemberIsAFieldOfTheCustomer(t *testing.T) {
	t.Parallel()
	for _, member := range exportedMembers() {
		if member.GetField() == customerv1.CustomerField_CUSTOMER_FIELD_UNSPECIFIED && member.GetName() != "type" {
			t.Errorf("%s is not the name of a CustomerField", member.GetName())
		}
	}
}
