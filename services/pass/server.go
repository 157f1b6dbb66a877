package pass

import (
	"context"
	"time"

	"reservation.dev/platform/check"
	"reservation.dev/platform/customers"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/scopes"
	"reservation.dev/platform/tenancy"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// Server implements PassService, SubscriptionPassService and PassSnapshotService. The server_*.go files have the RPCs for
// customer passes, subscriptions, redemptions, deleted customers and verification.
type Server struct {
	passv1.UnimplementedPassServiceServer
	passv1.UnimplementedSubscriptionPassServiceServer
	passv1.UnimplementedPassSnapshotServiceServer
	customerv1.UnimplementedCustomerDeletionServiceServer

	store     *store
	outbox    *outbox.Outbox
	companies *tenancy.Companies
	customers customers.Lookup
	now       func() time.Time
	newID     func() id.UUID
	lockWait  time.Duration // the longest time that several redemptions wait together for a lock
	importing chan struct{} // has an element for each batch that is being imported
}

// NewServer returns a server that uses db, appends its events to box, and looks up companies and
// customers in other services.
func NewServer(db *pg.DB, box *outbox.Outbox, companies *tenancy.Companies, lookup customers.Lookup) *Server {
	return &Server{
		store: newStore(db), outbox: box, companies: companies, customers: lookup, now: time.Now, newID: id.NewUUID, lockWait: usualLockWait,
		importing: make(chan struct{}, maxImporting),
	}
}

// NewCompanies returns the copy of companies in db, which fetches missing companies from auth.
func NewCompanies(db *pg.DB, auth tenancy.Auth) *tenancy.Companies {
	return tenancy.New(db, auth, tenancy.Timezone(), tenancy.Currency(), tenancy.ClockOffset())
}

// tenant is the company of a request, with its time zone.
type tenant struct {
	tenancy.Company
	zone *time.Location
}

func (s *Server) tenant(ctx context.Context) (tenant, error) {
	company, err := s.companies.Of(ctx)
	if err != nil {
		return tenant{}, err
	}
	zone, err := company.Location()
	return tenant{Company: company, zone: zone}, err
}

// clock returns the time of a company, by which the service decides and which resources show.
func (s *Server) clock(company tenant) time.Time { return pg.Instant(company.Now(s.now())) }

// today returns the current day at a company. A decision under a lock calls it while holding the
// lock, because the request may have waited past midnight.
func (s *Server) today(company tenant) time.Time { return dayOf(s.clock(company), company.zone) }

// moment returns the time and the day of a company.
func (s *Server) moment(company tenant) moment {
	now := s.clock(company)
	return moment{now: now, today: dayOf(now, company.zone)}
}

// CreatePassType implements PassService.
func (s *Server) CreatePassType(ctx context.Context, req *passv1.CreatePassTypeRequest) (*passv1.CreatePassTypeResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	t, err := newPassType(req, company.Currency)
	if err != nil {
		return nil, err
	}
	t.ID, t.CreatedAt = id.PassType(s.newID()), s.clock(company)
	t.UpdatedAt = t.CreatedAt
	resp := &passv1.CreatePassTypeResponse{}
	return idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		resp.PassType = passTypeMessage(t)
		addPassType(tx, company.ID, t)
		return s.outbox.Append(ctx, tx, passTypeCreated(company.ID, resp.GetPassType()))
	})
}

// seesOnlyCatalog reports whether the caller has catalog:read instead of passes:read, and so sees
// only the pass types that are on offer.
func seesOnlyCatalog(ctx context.Context) bool {
	claims := rpc.ClaimsFrom(ctx)
	return claims != nil && !claims.Has(scopes.PassesRead)
}

// GetPassType implements PassService.
func (s *Server) GetPassType(ctx context.Context, req *passv1.GetPassTypeRequest) (*passv1.GetPassTypeResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	passType, err := check.ID[id.PassType](req.GetId(), "pass type")
	if err != nil {
		return nil, err
	}
	read := s.store.passType
	if seesOnlyCatalog(ctx) {
		read = s.store.catalogPassType
	}
	t, err := read(ctx, company.ID, passType)
	if err != nil {
		return nil, err
	}
	return &passv1.GetPassTypeResponse{PassType: passTypeMessage(t)}, nil
}

// ListPassTypes implements PassService.
func (s *Server) ListPassTypes(ctx context.Context, req *passv1.ListPassTypesRequest) (*passv1.ListPassTypesResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	p, err := pageOf(req)
	if err != nil {
		return nil, err
	}
	f, err := passTypeFilterOf(req)
	if err != nil {
		return nil, err
	}
	f.catalog = seesOnlyCatalog(ctx)
	types, total, err := s.store.passTypes(ctx, company.ID, f, p)
	if err != nil {
		return nil, err
	}
	resp := &passv1.ListPassTypesResponse{Total: total}
	types, resp.NextPageToken = page.Cut(p, types, func(t *PassType) page.Cursor { return page.At(sortedBy(p, t.CreatedAt, t.UpdatedAt), t.ID.UUID()) })
	for _, t := range types {
		resp.PassTypes = append(resp.PassTypes, passTypeMessage(t))
	}
	return resp, nil
}

// UpdatePassType implements PassService.
func (s *Server) UpdatePassType(ctx context.Context, req *passv1.UpdatePassTypeRequest) (*passv1.UpdatePassTypeResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	passType, err := check.ID[id.PassType](req.GetId(), "pass type")
	if err != nil {
		return nil, err
	}
	resp := &passv1.UpdatePassTypeResponse{}
	return idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		t, err := s.updatePassType(ctx, tx, company, passType, req)
		resp.PassType = passTypeMessage(t)
		return err
	})
}

func (s *Server) updatePassType(ctx context.Context, tx *pg.Tx, company tenant, passType id.PassType, req *passv1.UpdatePassTypeRequest) (PassType, error) {
	before, err := s.store.lockPassType(ctx, tx, company.ID, passType)
	if err != nil {
		return before, err
	}
	if err := check.Version(before.Version, req.ExpectedVersion, "pass type"); err != nil {
		return before, err
	}
	t, err := changedPassType(before, req)
	if before.ofPlan() && (err != nil || !t.Equal(before)) {
		return t, passOfSubscription()
	}
	if err != nil || t.Equal(before) {
		return t, err
	}
	t.Version++
	t.UpdatedAt = s.clock(company)
	savePassType(tx, company.ID, t)
	return t, s.outbox.Append(ctx, tx, passTypeUpdated(company.ID, passTypeMessage(t)))
}
