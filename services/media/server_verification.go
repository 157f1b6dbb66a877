package media

import (
	"context"

	"google.golang.org/grpc"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
)

// VerifyMedia implements MediaService. An object that is missing has the computed size -1.
func (s *Server) VerifyMedia(_ *mediav1.VerifyMediaRequest, out grpc.ServerStreamingServer[mediav1.VerifyMediaResponse]) error {
	ctx := out.Context()
	company, err := s.tenant(ctx)
	if err != nil {
		return err
	}
	var checked int64
	compare := func(c comparison) error {
		checked++
		if c.stored == c.computed {
			return nil
		}
		return out.Send(&mediav1.VerifyMediaResponse{Difference: &mediav1.MediaDifference{What: c.what, Id: c.id, Stored: c.stored, Computed: c.computed}})
	}
	if err := s.store.verify(ctx, company.ID, compare); err != nil {
		return err
	}
	if err := s.verifyObjects(ctx, company.ID, compare); err != nil {
		return err
	}
	return out.Send(&mediav1.VerifyMediaResponse{Checked: checked})
}

// verifyObjects compares the sizes of a company's objects with the rows.
func (s *Server) verifyObjects(ctx context.Context, company id.Company, compare func(comparison) error) error {
	return s.store.objects(ctx, company, func(o namedObject) error {
		c := comparison{what: "file.size", id: o.item.String(), stored: o.size}
		attributes, err := s.bucket.Attributes(ctx, objectKey(company, o.item, o.object))
		switch {
		case isMissing(err):
			c.what, c.computed = "file.missing", -1
		case err != nil:
			return fault.Away(err)
		default:
			c.computed = attributes.Size
		}
		return compare(c)
	})
}
