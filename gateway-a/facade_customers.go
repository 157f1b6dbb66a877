package gatewaya

import (
	"context"

	"reservation.dev/platform/edge"
	edgeav1 "reservation.dev/proto/gen/reservation/edge/a/v1"
)

// GetProfile is GET /customer/{id}/profile.
func (f *facade) GetProfile(ctx context.Context, req *edgeav1.GetProfileRequest) (*edgeav1.GetProfileResponse, error) {
	c, err := f.single.Get(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	return &edgeav1.GetProfileResponse{Data: profile(edge.Tag(ctx, c))}, nil
}

// UpdateProfile is PUT /customer/{id}/profile.
func (f *facade) UpdateProfile(ctx context.Context, req *edgeav1.UpdateProfileRequest) (*edgeav1.UpdateProfileResponse, error) {
	update := profileUpdate(req.GetProfile())
	update.Id, update.ExpectedVersion = req.GetId(), edge.ExpectedVersion(ctx)
	res, err := f.customers.UpdateCustomer(ctx, update)
	if err != nil {
		return nil, err
	}
	edge.TagAs(ctx, res.GetCustomer(), &edgeav1.GetProfileResponse{Data: profile(res.GetCustomer())})
	return &edgeav1.UpdateProfileResponse{Message: "the customer's profile was updated"}, nil
}
