package booking

import (
	"context"

	"google.golang.org/grpc"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

const (
	copiesSQL = `select id, coalesce(reference, '') as reference, first_name, last_name, email, version, deleted_at is not null as deleted
		from customers where company_id = $1 and id > $2 order by id limit $3`

	// Whatever the copy's version is: it may be of a future that was restored away.
	// One that an event has changed meanwhile stays.
	repairCopySQL = `update customers set reference = $4, first_name = $5, last_name = $6, email = $7, version = $8, deleted_at = $9
		where company_id = $1 and id = $2 and version = $3`
)

// customerCopy is a customer in the copy.
type customerCopy struct {
	ID        id.Customer `db:"id"`
	Reference string      `db:"reference"`
	FirstName string      `db:"first_name"`
	LastName  string      `db:"last_name"`
	Email     string      `db:"email"`
	Version   int64       `db:"version"`
	Deleted   bool        `db:"deleted"`
}

func (c *customerCopy) differs(r customerRecord) bool {
	return c.Version != r.version || c.FirstName != r.FirstName || c.LastName != r.LastName || c.Email != r.Email ||
		c.Reference != r.reference || c.Deleted == r.deletedAt.IsZero()
}

// CompareCustomers implements VerificationService. A customer whose event is under
// way shows as a difference, whose repair the event then repeats.
func (s *Server) CompareCustomers(req *bookingv1.CompareCustomersRequest, out grpc.ServerStreamingServer[bookingv1.CompareCustomersResponse]) error {
	ctx := out.Context()
	company, err := s.tenant(ctx)
	if err != nil {
		return err
	}
	var checked int64
	for after := (id.Customer{}); ; {
		copies, err := pg.Rows[customerCopy](ctx, s.store.db, pg.For(company.ID), copiesSQL, company.ID, [16]byte(after), maxLookup)
		if err != nil {
			return s.store.fault(err)
		}
		if len(copies) == 0 {
			return out.Send(&bookingv1.CompareCustomersResponse{Checked: checked})
		}
		checked += int64(len(copies))
		after = copies[len(copies)-1].ID
		differences, err := s.compareCustomers(ctx, company.ID, copies, req.GetRepair())
		if err != nil {
			return err
		}
		for _, d := range differences {
			if err := out.Send(&bookingv1.CompareCustomersResponse{Difference: d}); err != nil {
				return err
			}
		}
	}
}

func (s *Server) compareCustomers(ctx context.Context, company id.Company, copies []customerCopy, repair bool) ([]*bookingv1.CustomerDifference, error) {
	ids := make([]id.Customer, len(copies))
	for i, c := range copies {
		ids[i] = c.ID
	}
	found, err := s.customers.Lookup(ctx, company, ids, nil)
	if err != nil {
		return nil, err
	}
	records := make(map[id.Customer]customerRecord, len(found))
	for _, r := range found {
		records[r.ID] = r
	}
	var differences []*bookingv1.CustomerDifference
	for i := range copies {
		c := &copies[i]
		r, known := records[c.ID]
		if known && !c.differs(r) {
			continue
		}
		d := &bookingv1.CustomerDifference{CustomerId: c.ID.String(), CopiedVersion: c.Version, Version: r.version}
		if known && repair {
			if d.Repaired, err = s.repairCopy(ctx, company, c, r); err != nil {
				return nil, err
			}
		}
		differences = append(differences, d)
	}
	return differences, nil
}

func (s *Server) repairCopy(ctx context.Context, company id.Company, c *customerCopy, r customerRecord) (repaired bool, err error) {
	err = s.store.inTx(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		var deleted any
		if !r.deletedAt.IsZero() {
			deleted = r.deletedAt
		}
		tag, err := tx.Exec(ctx, repairCopySQL, company, c.ID, c.Version, orNull(r.reference), r.FirstName, r.LastName, r.Email, r.version, deleted)
		repaired = err == nil && tag.RowsAffected() == 1
		return err
	})
	return repaired, err
}
