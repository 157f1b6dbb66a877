package reservectl

import (
	"cmp"
	"context"
	"fmt"

	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

func (v *verification) subscriptions(ctx context.Context, client subscriptionv1.SubscriptionServiceClient) error {
	stream, err := client.VerifySubscriptions(ctx, &subscriptionv1.VerifySubscriptionsRequest{})
	if err != nil {
		return err
	}
	return each(stream.Recv, func(res *subscriptionv1.VerifySubscriptionsResponse) {
		v.checked += res.GetChecked()
		if d := res.GetDifference(); d != nil {
			v.add(d.GetWhat(), d.GetId(), d.GetStored(), d.GetComputed())
		}
	})
}

func (v *verification) media(ctx context.Context, client mediav1.MediaServiceClient) error {
	stream, err := client.VerifyMedia(ctx, &mediav1.VerifyMediaRequest{})
	if err != nil {
		return err
	}
	return each(stream.Recv, func(res *mediav1.VerifyMediaResponse) {
		v.checked += res.GetChecked()
		if d := res.GetDifference(); d != nil {
			v.add(d.GetWhat(), d.GetId(), d.GetStored(), d.GetComputed())
		}
	})
}

// grants compares the credits that periods granted with the ledgers of passes: each period has one grant
// in both, with the same numbers. Both come in the order of passes and periods.
func (v *verification) grants(subscriptionCtx, passCtx context.Context, subscribed subscriptionv1.SubscriptionServiceClient,
	granted passv1.SubscriptionPassServiceClient) error {
	periods, err := subscribed.ExportGrants(subscriptionCtx, &subscriptionv1.ExportGrantsRequest{})
	if err != nil {
		return err
	}
	ledger, err := granted.ExportPassGrants(passCtx, &passv1.ExportPassGrantsRequest{})
	if err != nil {
		return err
	}
	left := &cursor[*subscriptionv1.Grant]{next: func() ([]*subscriptionv1.Grant, error) {
		res, err := periods.Recv()
		return res.GetGrants(), err
	}}
	right := &cursor[*passv1.PassGrant]{next: func() ([]*passv1.PassGrant, error) {
		res, err := ledger.Recv()
		return res.GetGrants(), err
	}}
	return merge(left, right, func(l *subscriptionv1.Grant, r *passv1.PassGrant) int {
		return cmp.Or(cmp.Compare(l.GetCustomerPassId(), r.GetCustomerPassId()), cmp.Compare(l.GetPeriod(), r.GetPeriod()))
	}, v.grant)
}

// grant compares the grant of one period. A service that does not have it passes nil.
func (v *verification) grant(period *subscriptionv1.Grant, ledger *passv1.PassGrant) {
	v.checked++
	id := fmt.Sprintf("%s/%d", cmp.Or(period.GetCustomerPassId(), ledger.GetCustomerPassId()), cmp.Or(period.GetPeriod(), ledger.GetPeriod()))
	switch {
	case period == nil:
		v.add("period.grants", id, 0, 1)
		return
	case ledger == nil:
		v.add("period.grants", id, 1, 0)
		return
	}
	for _, n := range []struct {
		what             string
		stored, computed int32
	}{
		{"period.granted", period.GetGranted(), ledger.GetGranted()},
		{"period.carried_over", period.GetCarriedOver(), ledger.GetCarriedOver()},
		{"period.expired", period.GetExpired(), ledger.GetExpired()},
	} {
		if n.stored != n.computed {
			v.add(n.what, id, n.stored, n.computed)
		}
	}
}
