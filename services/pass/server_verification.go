package pass

import (
	"google.golang.org/grpc"

	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// VerifyPasses implements PassService.
func (s *Server) VerifyPasses(_ *passv1.VerifyPassesRequest, out grpc.ServerStreamingServer[passv1.VerifyPassesResponse]) error {
	company, err := s.tenant(out.Context())
	if err != nil {
		return err
	}
	var checked int64
	err = s.store.verify(out.Context(), company.ID, func(c comparison) error {
		checked++
		if c.stored == c.computed {
			return nil
		}
		return out.Send(&passv1.VerifyPassesResponse{Difference: &passv1.PassDifference{What: c.what, Id: c.id, Stored: c.stored, Computed: c.computed}})
	})
	if err != nil {
		return err
	}
	return out.Send(&passv1.VerifyPassesResponse{Checked: checked})
}

// redemptionChunk is the number of items in one message of an export.
const redemptionChunk = 1000

// ExportRedemptions implements PassService.
func (s *Server) ExportRedemptions(_ *passv1.ExportRedemptionsRequest, out grpc.ServerStreamingServer[passv1.ExportRedemptionsResponse]) error {
	company, err := s.tenant(out.Context())
	if err != nil {
		return err
	}
	chunk := &passv1.ExportRedemptionsResponse{}
	err = s.store.exportRedemptions(out.Context(), company.ID, func(r redeemed) error {
		chunk.Redemptions = append(chunk.Redemptions, redeemedMessage(r))
		if len(chunk.GetRedemptions()) < redemptionChunk {
			return nil
		}
		err := out.Send(chunk)
		chunk = &passv1.ExportRedemptionsResponse{}
		return err
	})
	if err != nil || len(chunk.GetRedemptions()) == 0 {
		return err
	}
	return out.Send(chunk)
}
