package message

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

func TestPasses(t *testing.T) {
	t.Parallel()
	var assigned passv1.CustomerPassAssigned
	e := golden(t, "../../pass/testdata/customer_pass_assigned.json", "pass.v1.customer_pass_assigned", &assigned)
	const want = `"data":{"customerPassId":"cp_01kg0000000000000000000002","customerId":"cust_01kg000000000000000000006c","customerEmail":"zoe@example.com",` +
		`"customerName":"Zoë O'Brien","passId":"pass_01kg0000000000000000000001","passTitle":"Ten Classes","totalUses":10,"remainingUses":10,` +
		`"startDate":"2026-01-31","expiryDate":"2026-02-28","totalPaid":110,"currency":"GBP","paymentMethod":"CARD"}}`
	if got := messages(t, e)["pass.purchased"]; !strings.HasSuffix(got, want) {
		t.Errorf("got %s, want it to end %s", got, want)
	}
	assigned.GetCustomerPass().Purchase = nil
	e.Payload, _ = proto.Marshal(&assigned)
	if got := messages(t, e)["pass.purchased"]; !strings.HasSuffix(got, `"totalPaid":0,"currency":"GBP","paymentMethod":"FREE"}}`) {
		t.Errorf("got %s", got)
	}
}
