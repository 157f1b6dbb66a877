package subscription

import (
	"context"

	"reservation.dev/platform/check"
	"reservation.dev/platform/customers"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
	"reservation.dev/services/subscription/model"
)

// CreateSubscription implements SubscriptionService.
func (s *Server) CreateSubscription(ctx context.Context, req *subscriptionv1.CreateSubscriptionRequest) (*subscriptionv1.CreateSubscriptionResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	in, plan, err := s.newSubscription(ctx, company, req)
	if err != nil {
		return nil, err
	}
	resp := &subscriptionv1.CreateSubscriptionResponse{}
	done := &written{}
	resp, err = idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		if err := customers.RequirePresent(ctx, tx, company.ID, in.Customer); err != nil {
			return err
		}
		p, settings, err := s.store.shareOffer(ctx, tx, company.ID, plan)
		if err != nil {
			return err
		}
		r, steps, err := model.Start(in, p.Plan, settings, s.clock(company), company.zone)
		if err != nil {
			return err
		}
		resp.Subscription = subscriptionMessage(r.View(), company.zone)
		return s.save(ctx, tx, company, r, steps, addRecord, done)
	})
	if err != nil {
		return nil, err
	}
	return resp, s.complete(ctx, company, done, req, resp, &resp.Subscription)
}

// newSubscription reads a request and checks that the customer exists.
func (s *Server) newSubscription(ctx context.Context, company tenant, req *subscriptionv1.CreateSubscriptionRequest) (in model.NewSubscription, plan id.Plan, err error) {
	if plan, err = check.ID[id.Plan](req.GetPlanId(), "plan"); err != nil {
		return in, plan, err
	}
	var d days
	in = model.NewSubscription{
		ID: id.Subscription(s.newID()), StartDay: d.optional("start_date", req.GetStartDate()),
		SkipTrial: req.GetSkipTrial(), Payment: paymentOf(req.GetPayment()),
	}
	if err := d.Err(); err != nil {
		return in, plan, err
	}
	in.Customer, err = s.requireCustomer(ctx, company.ID, req.GetCustomerId())
	return in, plan, err
}

// requireCustomer returns fault.NotFound unless the customer exists and is not deleted.
func (s *Server) requireCustomer(ctx context.Context, company id.Company, identifier string) (id.Customer, error) {
	customer, err := check.ID[id.Customer](identifier, "customer")
	if err != nil {
		return customer, err
	}
	return customer, s.customers.Require(ctx, company, customer)
}

// GetSubscription implements SubscriptionService.
func (s *Server) GetSubscription(ctx context.Context, req *subscriptionv1.GetSubscriptionRequest) (*subscriptionv1.GetSubscriptionResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	subscription, err := check.ID[id.Subscription](req.GetId(), "subscription")
	if err != nil {
		return nil, err
	}
	v, err := s.store.view(ctx, company.ID, subscription)
	if customer := req.GetCustomerId(); err == nil && customer != "" {
		if v.CustomerID.String() != customer {
			return nil, fault.Missing("subscription")
		}
		_, err = s.requireCustomer(ctx, company.ID, customer)
	}
	if err != nil {
		return nil, err
	}
	return &subscriptionv1.GetSubscriptionResponse{Subscription: subscriptionMessage(v, company.zone)}, nil
}

// ListSubscriptions implements SubscriptionService.
func (s *Server) ListSubscriptions(ctx context.Context, req *subscriptionv1.ListSubscriptionsRequest) (*subscriptionv1.ListSubscriptionsResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	p, err := pageOf[subscriptionv1.SubscriptionOrder](req)
	if err != nil {
		return nil, err
	}
	f, err := subscriptionFilterOf(req)
	if err == nil && req.GetCustomerMustExist() {
		_, err = s.requireCustomer(ctx, company.ID, req.GetCustomerId())
	}
	if err != nil {
		return nil, err
	}
	views, total, err := s.store.listViews(ctx, company.ID, f, p)
	if err != nil {
		return nil, err
	}
	resp := &subscriptionv1.ListSubscriptionsResponse{Total: total}
	views, resp.NextPageToken = page.Cut(p, views, func(v *model.View) page.Cursor { return page.At(sortedBy(p, v.CreatedAt, v.UpdatedAt), v.ID.UUID()) })
	for _, v := range views {
		resp.Subscriptions = append(resp.Subscriptions, subscriptionMessage(v, company.zone))
	}
	return resp, nil
}

// ListPeriods implements SubscriptionService.
func (s *Server) ListPeriods(ctx context.Context, req *subscriptionv1.ListPeriodsRequest) (*subscriptionv1.ListPeriodsResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	of, err := check.ID[id.Subscription](req.GetSubscriptionId(), "subscription")
	if err != nil {
		return nil, err
	}
	p, err := numberedPageOf(req, of, periodOrder, periodOrderDesc)
	if err != nil {
		return nil, err
	}
	periods, total, err := s.store.listPeriods(ctx, company.ID, of, p)
	if err != nil {
		return nil, err
	}
	resp := &subscriptionv1.ListPeriodsResponse{Total: total}
	periods, resp.NextPageToken = page.Cut(p, periods, func(n *model.Period) page.Cursor { return page.Cursor{Key: int64(n.Number)} })
	for _, n := range periods {
		resp.Periods = append(resp.Periods, periodMessage(n, company.zone))
	}
	return resp, nil
}

// ListAccountEntries implements SubscriptionService.
func (s *Server) ListAccountEntries(ctx context.Context, req *subscriptionv1.ListAccountEntriesRequest) (*subscriptionv1.ListAccountEntriesResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	of, err := check.ID[id.Subscription](req.GetSubscriptionId(), "subscription")
	if err != nil {
		return nil, err
	}
	p, err := numberedPageOf(req, of, entryOrder, entryOrderDesc)
	if err != nil {
		return nil, err
	}
	entries, total, err := s.store.listEntries(ctx, company.ID, of, p)
	if err != nil {
		return nil, err
	}
	resp := &subscriptionv1.ListAccountEntriesResponse{Total: total}
	entries, resp.NextPageToken = page.Cut(p, entries, func(n *model.AccountEntry) page.Cursor { return page.Cursor{Key: n.Sequence} })
	for _, n := range entries {
		resp.Entries = append(resp.Entries, entryMessage(n, company.zone))
	}
	return resp, nil
}
