package booking

import (
	"context"
	"fmt"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/token"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	"reservation.dev/services/booking/convert"
	"reservation.dev/services/booking/model"
)

// Calls to other services use the booking service's own token, because a caller with the right to
// book does not need the right to read customers.

// CustomerClient calls the customer service.
type CustomerClient struct {
	client customerv1.CustomerServiceClient
	source *token.Source
}

// NewCustomerClient returns a client that uses conn and the tokens of source.
func NewCustomerClient(conn grpc.ClientConnInterface, source *token.Source) *CustomerClient {
	return &CustomerClient{client: customerv1.NewCustomerServiceClient(conn), source: source}
}

// Lookup implements Customers.
func (c *CustomerClient) Lookup(ctx context.Context, company id.Company, ids []id.Customer, references []string) ([]model.CustomerRecord, error) {
	req := &customerv1.BatchGetCustomersRequest{IncludeDeleted: true, References: references}
	for _, customer := range ids {
		req.Ids = append(req.Ids, customer.String())
	}
	resp, err := c.client.BatchGetCustomers(rpc.As(ctx, c.source, company), req)
	if err != nil {
		return nil, rpc.OwnError("customer", err)
	}
	records := make([]model.CustomerRecord, 0, len(resp.GetCustomers()))
	for _, in := range resp.GetCustomers() {
		customer, err := id.Parse[id.Customer](in.GetId())
		if err != nil {
			return nil, fmt.Errorf("customer service: %q: %w", in.GetId(), err)
		}
		records = append(records, model.CustomerRecord{
			Customer:  model.Customer{ID: customer, FirstName: in.GetFirstName(), LastName: in.GetLastName(), Email: in.GetEmail()},
			Reference: in.GetReference(), Version: in.GetVersion(), DeletedAt: convert.Instant(in.GetDeletedAt()),
		})
	}
	return records, nil
}

// PassClient calls the pass service.
type PassClient struct {
	client passv1.PassServiceClient
	source *token.Source
}

// NewPassClient returns a client that uses conn and the tokens of source.
func NewPassClient(conn grpc.ClientConnInterface, source *token.Source) *PassClient {
	return &PassClient{client: passv1.NewPassServiceClient(conn), source: source}
}

// Redeem implements Passes.
func (c *PassClient) Redeem(ctx context.Context, company id.Company, all []*Redemption) error {
	ctx = rpc.As(ctx, c.source, company)
	req := &passv1.BatchRedeemCreditsRequest{}
	for _, r := range all {
		req.Redemptions = append(req.Redemptions, redeemRequest(r))
	}
	resp, err := c.client.BatchRedeemCredits(ctx, req)
	switch {
	case status.Code(err) == codes.Unimplemented: // the previous release of the pass service
		for i, r := range all {
			one, err := c.client.RedeemCredits(ctx, req.GetRedemptions()[i])
			r.finish(one, err)
		}
		return nil
	case err != nil:
		return rpc.OwnError("pass", err)
	case len(resp.GetResults()) != len(all):
		return fmt.Errorf("pass service: %d results for %d redemptions", len(resp.GetResults()), len(all))
	}
	for i, result := range resp.GetResults() {
		if refused := result.GetRefused(); refused != nil {
			all[i].finish(nil, status.ErrorProto(refused))
		} else {
			all[i].finish(result.GetRedeemed(), nil)
		}
	}
	return nil
}

func redeemRequest(r *Redemption) *passv1.RedeemCreditsRequest {
	t := r.Transaction
	req := &passv1.RedeemCreditsRequest{RedemptionId: t.ID.String(), CustomerId: t.Purchaser.ID.String(), CustomerPassId: r.Requested.String()}
	for _, b := range t.PaidByPass() {
		req.Items = append(req.Items, &passv1.RedemptionItem{
			ItemId: b.ID.String(), EventType: string(b.Date.EventType), Credits: b.Payment.Credits, Day: b.Date.LocalDay(),
		})
	}
	return req
}

// finish sets the result of a redemption.
func (r *Redemption) finish(resp *passv1.RedeemCreditsResponse, err error) {
	if r.Err = ofPass(err); r.Err == nil {
		r.Paid.free = resp.GetCredits() == 0
		r.Paid.pass, r.Err = id.Parse[id.CustomerPass](resp.GetCustomerPassId())
	}
}

// Cancel implements Passes.
func (c *PassClient) Cancel(ctx context.Context, company id.Company, t id.Transaction) error {
	_, err := c.client.CancelRedemption(rpc.As(ctx, c.source, company), &passv1.CancelRedemptionRequest{RedemptionId: t.String()})
	return ofPass(err)
}

// Return implements Passes.
func (c *PassClient) Return(ctx context.Context, r model.CreditReturn) error {
	_, err := c.client.ReturnCredits(rpc.As(ctx, c.source, r.Company), &passv1.ReturnCreditsRequest{
		ReturnId: r.Booking.String(), RedemptionId: r.Transaction.String(), CustomerPassId: r.Pass.String(), Credits: r.Credits,
	})
	return ofPass(err)
}

// Change implements Passes.
func (c *PassClient) Change(ctx context.Context, change model.CreditChange, validateOnly bool) (credits int32, err error) {
	resp, err := c.client.ChangeRedemption(rpc.As(ctx, c.source, change.Company), &passv1.ChangeRedemptionRequest{
		RedemptionId: change.Transaction.String(), ChangeId: change.ID.String(), ExpectedCredits: change.Expected, ValidateOnly: validateOnly,
		Item: &passv1.RedemptionItem{ItemId: change.Booking.String(), EventType: change.EventType, Credits: change.Credits, Day: change.Day},
	})
	if err != nil && isRedemptionCancelled(err) {
		return 0, fault.From(err)
	}
	if f := fault.From(err); err != nil && f.Reason == fault.ReasonVersionMismatch {
		held, malformed := strconv.ParseInt(f.Meta["credits"], 10, 32)
		if malformed == nil {
			return 0, &heldCreditsError{held: int32(held)}
		}
	}
	return resp.GetCredits(), ofPass(err)
}

// heldCreditsError is the error of a change that expects other credits than the booking holds.
type heldCreditsError struct{ held int32 }

func (e *heldCreditsError) Error() string {
	return fmt.Sprintf("pass service: the booking holds %d credits", e.held)
}

// CancelChange implements Passes.
func (c *PassClient) CancelChange(ctx context.Context, change model.CreditChange) error {
	_, err := c.client.CancelRedemptionChange(rpc.As(ctx, c.source, change.Company), &passv1.CancelRedemptionChangeRequest{
		RedemptionId: change.Transaction.String(), ItemId: change.Booking.String(), ChangeId: change.ID.String(),
	})
	return ofPass(err)
}

// isRedemptionCancelled reports whether the pass service refused because the credits were returned.
func isRedemptionCancelled(err error) bool {
	f := fault.From(err)
	return f != nil && f.Reason == reasonRedemptionCancelled
}

// reasonRedemptionCancelled is the reason with which the pass service refuses to redeem credits for
// a purchase that is being undone.
const reasonRedemptionCancelled = "REDEMPTION_CANCELLED"

// ofPass converts an error of the pass service. It keeps a refusal with its reason, which is meant
// for the caller, and treats every other error as rpc.OwnError does.
func ofPass(err error) error {
	if err == nil {
		return nil
	}
	f := fault.From(err)
	switch {
	case f.Reason == reasonRedemptionCancelled:
		return fault.Away(fmt.Errorf("pass service: %w", err))
	case f.Kind == fault.Refused || f.Kind == fault.NotFound || f.Kind == fault.Invalid:
		return f
	}
	return rpc.OwnError("pass", err)
}
