package gatewayb

import (
	"context"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/enum"
	"reservation.dev/platform/money"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
	edgev1 "reservation.dev/proto/gen/reservation/edge/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// ListPasses is GET /passes.
func (f *facade) ListPasses(ctx context.Context, req *edgebv1.ListPassesRequest) (*edgebv1.ListPassesResponse, error) {
	p, err := newPage(parameters{req.Page, req.PerPage, req.Cursor, req.Sort, req.UpdatedSince}, 4)
	if err != nil {
		return nil, err
	}
	status, err := enumParameter[passv1.PassTypeStatus]("status", req.Status)
	if err != nil {
		return nil, err
	}
	res, err := f.passes.ListPassTypes(ctx, &passv1.ListPassTypesRequest{
		PageSize: p.size, PageToken: p.cursor, Offset: p.offset(), UpdatedSince: p.since, Order: passv1.PassOrder(p.sort), Status: status,
	})
	if err != nil {
		return nil, named(err, listNames())
	}
	out := &edgebv1.ListPassesResponse{Total: res.GetTotal(), Page: p.number, PerPage: p.size, NextCursor: next(res.GetNextPageToken())}
	for _, t := range res.GetPassTypes() {
		out.Passes = append(out.Passes, passType(t))
	}
	return out, nil
}

// GetPass is GET /passes/{id}.
func (f *facade) GetPass(ctx context.Context, req *edgebv1.GetPassRequest) (*edgebv1.GetPassResponse, error) {
	res, err := f.passes.GetPassType(ctx, &passv1.GetPassTypeRequest{Id: req.GetId()})
	if err != nil {
		return nil, err
	}
	edge.SetETag(ctx, res.GetPassType().GetVersion())
	return &edgebv1.GetPassResponse{Pass: passType(res.GetPassType())}, nil
}

// CreatePass is POST /passes.
func (f *facade) CreatePass(ctx context.Context, req *edgebv1.CreatePassRequest) (*edgebv1.CreatePassResponse, error) {
	in := req.GetPass()
	if in == nil {
		in = &edgebv1.PassWrite{}
	}
	var wrong faults
	create := &passv1.CreatePassTypeRequest{
		Title: in.GetTitle(), Description: in.GetDescription(), TotalUses: in.GetTotalUses(), ValidityCount: in.GetValidityCount(),
		ValidityUnit: value[passv1.ValidityUnit](&wrong, "validityUnit", in.ValidityUnit), Price: in.GetPrice().GetMinor(),
		Currency: in.GetCurrency(), EligibleEventTypes: in.GetEligibleEventTypes().GetValues(),
	}
	wrong.notEmpty("currency", in.Currency)
	if in.Status != nil && in.GetStatus() != enum.Name(passv1.PassTypeStatus_PASS_TYPE_STATUS_ACTIVE) {
		wrong.add("status", "enum", "must be active: a pass is made to be sold")
	}
	if err := wrong.err(); err != nil {
		return nil, err
	}
	res, err := f.passes.CreatePassType(ctx, create)
	if err != nil {
		return nil, named(err, nil)
	}
	edge.SetETag(ctx, res.GetPassType().GetVersion())
	created(ctx, "passes", res.GetPassType().GetId())
	return &edgebv1.CreatePassResponse{Pass: passType(res.GetPassType())}, nil
}

// UpdatePass is PUT and PATCH /passes/{id}.
func (f *facade) UpdatePass(ctx context.Context, req *edgebv1.UpdatePassRequest) (*edgebv1.UpdatePassResponse, error) {
	in := req.GetPass()
	if in == nil {
		in = &edgebv1.PassWrite{}
	}
	var wrong faults
	update := &passv1.UpdatePassTypeRequest{
		Id: req.GetId(), Title: in.Title, Description: in.Description, TotalUses: in.TotalUses, ValidityCount: in.ValidityCount,
		ValidityUnit: value[passv1.ValidityUnit](&wrong, "validityUnit", in.ValidityUnit), Currency: in.Currency,
		Status: value[passv1.PassTypeStatus](&wrong, "status", in.Status), ExpectedVersion: edge.ExpectedVersion(ctx),
	}
	wrong.notEmpty("currency", in.Currency)
	if err := wrong.err(); err != nil {
		_, look := f.passes.GetPassType(ctx, &passv1.GetPassTypeRequest{Id: req.GetId()})
		return nil, graver(look, err)
	}
	if in.GetPrice() != nil {
		update.Price = &in.GetPrice().Minor
	}
	if types := in.GetEligibleEventTypes(); types != nil {
		update.EligibleEventTypes = &passv1.EventTypes{Types: types.GetValues()}
	}
	res, err := f.passes.UpdatePassType(ctx, update)
	if err != nil {
		return nil, named(err, nil)
	}
	edge.SetETag(ctx, res.GetPassType().GetVersion())
	return &edgebv1.UpdatePassResponse{Pass: passType(res.GetPassType())}, nil
}

func passType(t *passv1.PassType) *edgebv1.Pass {
	return &edgebv1.Pass{
		Id: t.GetId(), Title: t.GetTitle(), Description: t.GetDescription(), TotalUses: t.GetTotalUses(), ValidityCount: t.GetValidityCount(),
		ValidityUnit: enum.Name(t.GetValidityUnit()), Price: &edgev1.Amount{Minor: t.GetPrice()}, Currency: t.GetCurrency(),
		EligibleEventTypes: t.GetEligibleEventTypes(), Status: enum.Name(t.GetStatus()),
		CreatedAt: utc(t.GetCreatedAt()), UpdatedAt: utc(t.GetUpdatedAt()),
	}
}

// ListCustomerPasses is GET /customer-passes.
func (f *facade) ListCustomerPasses(ctx context.Context, req *edgebv1.ListCustomerPassesRequest) (*edgebv1.ListCustomerPassesResponse, error) {
	p, err := newPage(parameters{req.Page, req.PerPage, req.Cursor, req.Sort, req.UpdatedSince}, 4)
	if err != nil {
		return nil, err
	}
	status, err := enumParameter[passv1.CustomerPassStatus]("status", req.Status)
	if err != nil {
		return nil, err
	}
	res, err := f.passes.ListCustomerPasses(ctx, &passv1.ListCustomerPassesRequest{
		PageSize: p.size, PageToken: p.cursor, Offset: p.offset(), UpdatedSince: p.since, Order: passv1.PassOrder(p.sort), Status: status,
		CustomerId: identifier(req.CustomerId), PassTypeId: identifier(req.PassId),
	})
	if err != nil {
		return nil, named(err, listNames())
	}
	out := &edgebv1.ListCustomerPassesResponse{Total: res.GetTotal(), Page: p.number, PerPage: p.size, NextCursor: next(res.GetNextPageToken())}
	for _, c := range res.GetCustomerPasses() {
		out.CustomerPasses = append(out.CustomerPasses, customerPass(c))
	}
	return out, nil
}

// GetCustomerPass is GET /customer-passes/{id}.
func (f *facade) GetCustomerPass(ctx context.Context, req *edgebv1.GetCustomerPassRequest) (*edgebv1.GetCustomerPassResponse, error) {
	res, err := f.passes.GetCustomerPass(ctx, &passv1.GetCustomerPassRequest{Id: req.GetId()})
	if err != nil {
		return nil, err
	}
	edge.SetETag(ctx, res.GetCustomerPass().GetVersion())
	return &edgebv1.GetCustomerPassResponse{CustomerPass: customerPass(res.GetCustomerPass())}, nil
}

// CreateCustomerPass is POST /customer-passes.
func (f *facade) CreateCustomerPass(ctx context.Context, req *edgebv1.CreateCustomerPassRequest) (*edgebv1.CreateCustomerPassResponse, error) {
	in := req.GetCustomerPass()
	var wrong faults
	for _, field := range []struct{ name, value string }{{"customerId", in.GetCustomerId()}, {"passId", in.GetPassId()}, {"startDate", in.GetStartDate()}} {
		if field.value == "" {
			wrong.add(field.name, "required", "is required")
		}
	}
	if payment := in.GetPayment(); payment != nil {
		choice[int32](&wrong, "payment.method", payment.Method, money.PassMethods())
	}
	if err := wrong.err(); err != nil {
		return nil, err
	}
	assign := &passv1.AssignCustomerPassRequest{CustomerId: in.GetCustomerId(), PassTypeId: in.GetPassId(), StartDate: in.GetStartDate()}
	if payment := in.GetPayment(); payment != nil {
		assign.Purchase = &passv1.PassPurchase{Method: payment.GetMethod(), Reference: payment.GetReference()}
		if payment.GetAmount() != nil {
			assign.Purchase.Gross = &payment.GetAmount().Minor
		}
	}
	res, err := f.passes.AssignCustomerPass(ctx, assign)
	if err != nil {
		return nil, named(err, map[string]string{"purchase.gross": "payment.amount", "purchase": "payment", "pass_type_id": "passId"})
	}
	edge.SetETag(ctx, res.GetCustomerPass().GetVersion())
	created(ctx, "customer-passes", res.GetCustomerPass().GetId())
	return &edgebv1.CreateCustomerPassResponse{CustomerPass: customerPass(res.GetCustomerPass())}, nil
}

// UpdateCustomerPass is PUT and PATCH /customer-passes/{id}.
func (f *facade) UpdateCustomerPass(ctx context.Context, req *edgebv1.UpdateCustomerPassRequest) (*edgebv1.UpdateCustomerPassResponse, error) {
	in := req.GetCustomerPass()
	if in == nil {
		in = &edgebv1.CustomerPassUpdate{}
	}
	var wrong faults
	update := &passv1.UpdateCustomerPassRequest{
		Id: req.GetId(), ExpiryDate: in.ExpiryDate, RemainingUses: in.RemainingUses, Reason: in.GetReason(), ExpectedVersion: edge.ExpectedVersion(ctx),
		Status: value[passv1.CustomerPassStatus](&wrong, "status", in.Status),
	}
	if err := wrong.err(); err != nil {
		_, look := f.passes.GetCustomerPass(ctx, &passv1.GetCustomerPassRequest{Id: req.GetId()})
		return nil, graver(look, err)
	}
	res, err := f.passes.UpdateCustomerPass(ctx, update)
	if err != nil {
		return nil, named(err, nil)
	}
	edge.SetETag(ctx, res.GetCustomerPass().GetVersion())
	return &edgebv1.UpdateCustomerPassResponse{CustomerPass: customerPass(res.GetCustomerPass())}, nil
}

func customerPass(p *passv1.CustomerPass) *edgebv1.CustomerPass {
	return &edgebv1.CustomerPass{
		Id: p.GetId(), CustomerId: p.GetCustomerId(), PassId: p.GetPassTypeId(), RemainingUses: p.GetRemainingUses(),
		StartDate: p.GetStartDate(), ExpiryDate: p.GetExpiryDate(), Status: enum.Name(p.GetStatus()),
	}
}
