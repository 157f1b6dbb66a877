package subscription

import (
	"context"
	"errors"
	"fmt"

	"reservation.dev/platform/customers"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
	"reservation.dev/services/subscription/model"
)

// ImportSubscriptions implements SubscriptionService. Each line is a commit of its own, and the job sends the
// passes. A line whose reference is stored changes nothing, so a repeated request needs no idempotency key.
func (s *Server) ImportSubscriptions(ctx context.Context, req *subscriptionv1.ImportSubscriptionsRequest) (*subscriptionv1.ImportSubscriptionsResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	if len(req.GetSubscriptions()) == 0 {
		return nil, fault.InvalidFields(fault.Field{Field: "subscriptions", Rule: "required", Message: "must have at least 1 item"})
	}
	lines := make([]importLine, len(req.GetSubscriptions()))
	var customers []id.Customer
	for i, in := range req.GetSubscriptions() {
		lines[i] = s.readLine(in)
		if lines[i].err == nil {
			customers = append(customers, lines[i].in.Customer)
		}
	}
	missing, err := s.customers.Missing(ctx, company.ID, customers)
	if err != nil {
		return nil, err
	}
	resp := &subscriptionv1.ImportSubscriptionsResponse{}
	for _, line := range lines {
		if line.err == nil && missing[line.in.Customer] {
			line.err = missingField("customer_id", "customer")
		}
		result, err := s.importLine(ctx, company, line)
		if err != nil {
			return nil, err
		}
		resp.Results = append(resp.Results, result)
	}
	return resp, nil
}

// importLine is one line of an import.
type importLine struct {
	in   model.ImportedSubscription
	plan id.Plan
	err  error // why the line is refused
}

// missingField is the fault of a field that names something that does not exist.
func missingField(field, resource string) error {
	return fault.InvalidFields(fault.Field{Field: field, Rule: "exists", Message: "must be the identifier of a " + resource + " that exists"})
}

// readLine reads a line.
func (s *Server) readLine(in *subscriptionv1.ImportedSubscription) (line importLine) {
	var d days
	line.in = model.ImportedSubscription{
		ID: id.Subscription(s.newID()), Reference: in.GetReference(), PeriodFirstDay: d.required("period_first_day", in.GetPeriodFirstDay()),
		StartDay: d.optional("start_date", in.GetStartDate()), RemainingCredits: in.GetRemainingCredits(), Price: in.Price,
		PaymentDue: in.GetPaymentDue(), AnchorDay: in.GetAnchorDay(), Trial: in.GetTrial(), PeriodsBefore: in.GetPeriodsBefore(),
		LastDay: d.optional("last_day", in.GetLastDay()),
	}
	var err error
	if line.in.Customer, err = id.Parse[id.Customer](in.GetCustomerId()); err != nil {
		d.Add("customer_id", "format", "must be the identifier of a customer")
	}
	if line.plan, err = id.Parse[id.Plan](in.GetPlanId()); err != nil {
		d.Add("plan_id", "format", "must be the identifier of a plan")
	}
	line.err = d.Err()
	return line
}

// importLine stores a line, unless its reference is stored. A fault of the line is its result.
func (s *Server) importLine(ctx context.Context, company tenant, line importLine) (*subscriptionv1.ImportedSubscriptionResult, error) {
	result := &subscriptionv1.ImportedSubscriptionResult{}
	err := line.err
	if err == nil {
		err = s.store.Write(ctx, company.ID, func(ctx context.Context, tx *pg.Tx) (err error) {
			result, err = s.storeLine(ctx, tx, company, line)
			return err
		})
	}
	var f *fault.Error
	switch {
	case err == nil:
		return result, nil
	case !errors.As(err, &f), f.Kind != fault.Invalid && f.Kind != fault.Refused:
		return nil, fmt.Errorf("reference %q: %w", line.in.Reference, err)
	case len(f.Fields) == 0:
		return &subscriptionv1.ImportedSubscriptionResult{Error: f.Message}, nil
	}
	return &subscriptionv1.ImportedSubscriptionResult{Field: f.Fields[0].Field, Error: f.Fields[0].Message}, nil
}

func (s *Server) storeLine(ctx context.Context, tx *pg.Tx, company tenant, line importLine) (*subscriptionv1.ImportedSubscriptionResult, error) {
	existing, err := s.store.byReference(ctx, tx, company.ID, line.in.Reference)
	if err != nil {
		return nil, err
	}
	if !existing.IsZero() {
		return &subscriptionv1.ImportedSubscriptionResult{Id: existing.String(), Existed: true}, nil
	}
	if err := customers.RequirePresent(ctx, tx, company.ID, line.in.Customer); err != nil {
		return nil, lineFault(err, "customer_id", "customer")
	}
	p, settings, err := s.store.shareOffer(ctx, tx, company.ID, line.plan)
	if err != nil {
		return nil, lineFault(err, "plan_id", "plan")
	}
	r, err := model.Import(line.in, p.Plan, settings, s.clock(company), company.zone)
	if err != nil {
		return nil, err
	}
	addRecord(tx, company.ID, r, state{id: s.newID(), sync: s.now()})
	imported := subscriptionImported(company.ID, subscriptionMessage(r.View(), company.zone), movementMessages(r.Movements(), company.zone))
	if err := s.outbox.Append(ctx, tx, imported); err != nil {
		return nil, err
	}
	return &subscriptionv1.ImportedSubscriptionResult{Id: r.ID.String()}, nil
}

// lineFault returns the fault of a line that names something that does not exist.
func lineFault(err error, field, resource string) error {
	if fault.Is(err, fault.NotFound) {
		return missingField(field, resource)
	}
	return err
}
