package subscription

import (
	"fmt"

	"google.golang.org/grpc"

	"reservation.dev/platform/id"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
	"reservation.dev/services/subscription/model"
)

// verifyBatch is the number of subscriptions that are read at once.
const verifyBatch = 200

// VerifySubscriptions implements SubscriptionService.
func (s *Server) VerifySubscriptions(_ *subscriptionv1.VerifySubscriptionsRequest, out grpc.ServerStreamingServer[subscriptionv1.VerifySubscriptionsResponse]) error {
	ctx := out.Context()
	company, err := s.tenant(ctx)
	if err != nil {
		return err
	}
	v := verifier{company: company, out: out}
	for after := (id.Subscription{}); ; {
		batch, err := s.store.wholes(ctx, company.ID, after, verifyBatch)
		if err != nil {
			return err
		}
		for _, w := range batch {
			if found, _ := w.verify(company); len(found) > 0 {
				// The rows were not read at the same moment.
				if w, err = s.store.lockWhole(ctx, company.ID, w.subscription.ID); err != nil {
					return err
				}
			}
			if err := v.send(w); err != nil {
				return err
			}
		}
		if len(batch) < verifyBatch {
			break
		}
		after = batch[len(batch)-1].subscription.ID
	}
	stored, counted, err := s.store.countAll(ctx, company.ID)
	if err != nil {
		return err
	}
	if err := v.compare("plans.total", "", stored.plans, counted.plans); err != nil {
		return err
	}
	if err := v.compare("subscriptions.total", "", stored.subscriptions, counted.subscriptions); err != nil {
		return err
	}
	return out.Send(&subscriptionv1.VerifySubscriptionsResponse{Checked: v.checked})
}

// verifier sends differences and counts checks.
type verifier struct {
	company tenant
	out     grpc.ServerStreamingServer[subscriptionv1.VerifySubscriptionsResponse]
	checked int64
}

func (v *verifier) send(w whole) error {
	found, checked := w.verify(v.company)
	v.checked += checked
	for _, d := range found {
		name := w.subscription.ID.String()
		if d.Period > 0 {
			name = fmt.Sprintf("%s/%d", name, d.Period)
		}
		if err := v.difference(d.What, name, d.Stored, d.Computed); err != nil {
			return err
		}
	}
	return nil
}

func (v *verifier) compare(what, name string, stored, computed int64) error {
	v.checked++
	if stored == computed {
		return nil
	}
	return v.difference(what, name, fmt.Sprint(stored), fmt.Sprint(computed))
}

func (v *verifier) difference(what, name, stored, computed string) error {
	return v.out.Send(&subscriptionv1.VerifySubscriptionsResponse{
		Difference: &subscriptionv1.SubscriptionDifference{What: what, Id: name, Stored: stored, Computed: computed},
	})
}

// whole is a subscription with all its rows.
type whole struct {
	subscription model.Subscription
	periods      []model.Period
	entries      []model.AccountEntry
}

// verify recomputes the rows. It also checks what the pass service has granted: the credits of the period, a
// rollover within its bound, nothing before the first period, the same first day, and periods in order. The pass service compares what
// rolled over and expired with its ledger.
func (w whole) verify(company tenant) ([]model.Difference, int64) {
	found, checked := model.Verify(w.subscription, w.periods, w.entries, company.zone)
	for i := range w.periods {
		p := &w.periods[i]
		computed := [3]int32{p.CreditsGranted, min(p.CreditsCarriedOver, p.MaxRollover), p.CreditsExpired}
		if p.Granted {
			computed[0] = p.Credits
		}
		if i == 0 || !p.Granted {
			computed[1], computed[2] = 0, 0
		}
		stored := [3]int32{p.CreditsGranted, p.CreditsCarriedOver, p.CreditsExpired}
		checked++
		if stored != computed {
			found = append(found, model.Difference{What: "period.grant", Period: p.Number, Stored: fmt.Sprint(stored), Computed: fmt.Sprint(computed)})
		}
		if checked++; p.GrantedFirstDay != nil && !p.GrantedFirstDay.Equal(p.FirstDay) {
			found = append(found, model.Difference{
				What: "period.grant", Period: p.Number, Stored: "of " + dayText(p.GrantedFirstDay), Computed: "of " + dayText(&p.FirstDay),
			})
		}
		if checked++; p.Granted && i > 0 && !w.periods[i-1].Granted {
			found = append(found, model.Difference{What: "period.granted", Period: w.periods[i-1].Number, Stored: "false", Computed: "true"})
		}
	}
	return found, checked
}

// grantChunk is the number of items in one message of an export.
const grantChunk = 1000

// ExportGrants implements SubscriptionService.
func (s *Server) ExportGrants(_ *subscriptionv1.ExportGrantsRequest, out grpc.ServerStreamingServer[subscriptionv1.ExportGrantsResponse]) error {
	company, err := s.tenant(out.Context())
	if err != nil {
		return err
	}
	chunk := &subscriptionv1.ExportGrantsResponse{}
	err = s.store.exportGrants(out.Context(), company.ID, func(g grant) error {
		chunk.Grants = append(chunk.Grants, &subscriptionv1.Grant{
			CustomerPassId: passOf(g.subscription).String(), Period: g.period, Granted: g.granted, CarriedOver: g.carriedOver, Expired: g.expired,
		})
		if len(chunk.GetGrants()) < grantChunk {
			return nil
		}
		err := out.Send(chunk)
		chunk = &subscriptionv1.ExportGrantsResponse{}
		return err
	})
	if err != nil || len(chunk.GetGrants()) == 0 {
		return err
	}
	return out.Send(chunk)
}
