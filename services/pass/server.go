package pass

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// Server answers the RPCs of PassService.
type Server struct {
	passv1.UnimplementedPassServiceServer

	store  *store
	outbox *outbox.Outbox
	others Others
	now    func() time.Time
	newID  func() id.UUID
}

// NewServer returns a server on db, which appends its events to box.
func NewServer(db *pg.DB, box *outbox.Outbox, others Others) *Server {
	return &Server{store: &store{db: db}, outbox: box, others: others, now: time.Now, newID: id.NewUUID}
}

// Policy is the scope that each RPC needs.
func Policy() rpc.Policy {
	return rpc.Policy{
		passv1.PassService_CreatePassType_FullMethodName:     "passes:write",
		passv1.PassService_GetPassType_FullMethodName:        "passes:read",
		passv1.PassService_ListPassTypes_FullMethodName:      "passes:read",
		passv1.PassService_AssignCustomerPass_FullMethodName: "customer-passes:write",
		passv1.PassService_GetCustomerPass_FullMethodName:    "customer-passes:read",
		passv1.PassService_ListCustomerPasses_FullMethodName: "customer-passes:read",
		passv1.PassService_ListLedgerEntries_FullMethodName:  "customer-passes:read",
	}
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
	t.ID, t.CreatedAt = id.PassType(s.newID()), instant(s.now())
	t.UpdatedAt = t.CreatedAt
	var resp *passv1.CreatePassTypeResponse
	err = s.store.inTx(ctx, company.ID, func(ctx context.Context, tx *pg.Tx) error {
		resp = &passv1.CreatePassTypeResponse{}
		return idem.Do(ctx, tx, req, resp, func() error {
			resp.PassType = passTypeMessage(t)
			if err := s.store.addPassType(ctx, tx, company.ID, t); err != nil {
				return err
			}
			return s.outbox.Append(ctx, tx, passTypeCreated(company.ID, resp.GetPassType()))
		})
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// GetPassType implements PassService.
func (s *Server) GetPassType(ctx context.Context, req *passv1.GetPassTypeRequest) (*passv1.GetPassTypeResponse, error) {
	company, passType, err := named[id.PassType](ctx, s, req.GetId(), "pass type")
	if err != nil {
		return nil, err
	}
	t, err := s.store.passType(ctx, company.ID, passType)
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
	size, err := pageSize(req.GetPageSize(), 50, 200)
	if err != nil {
		return nil, err
	}
	after, err := afterID(req.GetPageToken())
	if err != nil {
		return nil, err
	}
	list, total, err := s.store.passTypes(ctx, company.ID, after, size+1)
	if err != nil {
		return nil, err
	}
	resp := &passv1.ListPassTypesResponse{Total: total}
	if len(list) > size {
		list = list[:size]
		resp.NextPageToken = list[size-1].ID.UUID().String()
	}
	for _, t := range list {
		resp.PassTypes = append(resp.PassTypes, passTypeMessage(t))
	}
	return resp, nil
}

// AssignCustomerPass implements PassService.
func (s *Server) AssignCustomerPass(ctx context.Context, req *passv1.AssignCustomerPassRequest) (*passv1.AssignCustomerPassResponse, error) {
	company, passType, err := named[id.PassType](ctx, s, req.GetPassTypeId(), "pass type")
	if err != nil {
		return nil, err
	}
	customer, err := id.Parse[id.Customer](req.GetCustomerId())
	if err != nil {
		return nil, fault.Missing("customer")
	}
	start, err := startDate(req.GetStartDate(), s.now(), company.Zone)
	if err != nil {
		return nil, err
	}
	t, err := s.store.passType(ctx, company.ID, passType)
	if err != nil {
		return nil, err
	}
	exists, err := s.others.CustomerExists(ctx, company.ID, customer)
	if err != nil {
		return nil, err
	}
	if !exists {
		return nil, fault.Missing("customer")
	}
	p := CustomerPass{
		ID: id.CustomerPass(s.newID()), CustomerID: customer, PassTypeID: t.ID, RemainingUses: t.TotalUses,
		StartDate: start, ExpiryDate: t.ExpiryOf(start), Status: statusActive, Version: 1, CreatedAt: instant(s.now()),
	}
	p.UpdatedAt = p.CreatedAt
	var resp *passv1.AssignCustomerPassResponse
	err = s.store.inTx(ctx, company.ID, func(ctx context.Context, tx *pg.Tx) error {
		resp = &passv1.AssignCustomerPassResponse{}
		return idem.Do(ctx, tx, req, resp, func() error {
			resp.CustomerPass = customerPassMessage(p, p.CreatedAt, company.Zone)
			if err := s.store.addCustomerPass(ctx, tx, company.ID, p, rpc.Caller(ctx)); err != nil {
				return err
			}
			return s.outbox.Append(ctx, tx, customerPassAssigned(company.ID, resp.GetCustomerPass(), passTypeMessage(t)))
		})
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// GetCustomerPass implements PassService.
func (s *Server) GetCustomerPass(ctx context.Context, req *passv1.GetCustomerPassRequest) (*passv1.GetCustomerPassResponse, error) {
	company, pass, err := named[id.CustomerPass](ctx, s, req.GetId(), "customer pass")
	if err != nil {
		return nil, err
	}
	p, err := s.store.customerPass(ctx, company.ID, pass)
	if err != nil {
		return nil, err
	}
	return &passv1.GetCustomerPassResponse{CustomerPass: customerPassMessage(p, s.now(), company.Zone)}, nil
}

// ListCustomerPasses implements PassService.
func (s *Server) ListCustomerPasses(ctx context.Context, req *passv1.ListCustomerPassesRequest) (*passv1.ListCustomerPassesResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	var customer id.Customer
	if req.GetCustomerId() != "" {
		if customer, err = id.Parse[id.Customer](req.GetCustomerId()); err != nil {
			return nil, fault.Missing("customer")
		}
	}
	size, err := pageSize(req.GetPageSize(), 50, 200)
	if err != nil {
		return nil, err
	}
	after, err := afterID(req.GetPageToken())
	if err != nil {
		return nil, err
	}
	list, total, err := s.store.customerPasses(ctx, company.ID, customer, after, size+1)
	if err != nil {
		return nil, err
	}
	resp := &passv1.ListCustomerPassesResponse{Total: total}
	if len(list) > size {
		list = list[:size]
		resp.NextPageToken = list[size-1].ID.UUID().String()
	}
	now := s.now()
	for _, p := range list {
		resp.CustomerPasses = append(resp.CustomerPasses, customerPassMessage(p, now, company.Zone))
	}
	return resp, nil
}

// ListLedgerEntries implements PassService.
func (s *Server) ListLedgerEntries(ctx context.Context, req *passv1.ListLedgerEntriesRequest) (*passv1.ListLedgerEntriesResponse, error) {
	company, pass, err := named[id.CustomerPass](ctx, s, req.GetCustomerPassId(), "customer pass")
	if err != nil {
		return nil, err
	}
	size, err := pageSize(req.GetPageSize(), 200, 1000)
	if err != nil {
		return nil, err
	}
	after, err := afterSequence(req.GetPageToken())
	if err != nil {
		return nil, err
	}
	list, err := s.store.ledger(ctx, company.ID, pass, after, size+1)
	if err != nil {
		return nil, err
	}
	resp := &passv1.ListLedgerEntriesResponse{}
	if len(list) > size {
		list = list[:size]
		resp.NextPageToken = sequenceToken(list[size-1].Sequence)
	}
	for _, e := range list {
		resp.Entries = append(resp.Entries, ledgerMessage(e))
	}
	return resp, nil
}

// named returns the tenant and the identifier that a request names. What is no
// identifier is answered like one that does not exist.
func named[T any, P interface {
	*T
	UnmarshalText([]byte) error
}](ctx context.Context, s *Server, text, what string) (Company, T, error) {
	var v T
	company, err := s.tenant(ctx)
	if err != nil {
		return company, v, err
	}
	if text == "" || P(&v).UnmarshalText([]byte(text)) != nil {
		return company, v, fault.Missing(what)
	}
	return company, v, nil
}

func pageSize(asked int32, usual, most int) (int, error) {
	switch {
	case asked == 0:
		return usual, nil
	case asked < 0 || int(asked) > most:
		return 0, fault.InvalidParameter("page_size", "range", "is out of range")
	}
	return int(asked), nil
}

// afterID reads the page token of a list that is ordered by identifier.
func afterID(token string) (id.UUID, error) {
	if token == "" {
		return id.UUID{}, nil
	}
	u, err := id.ParseUUID(token)
	if err != nil {
		return id.UUID{}, fault.InvalidParameter("page_token", "format", "is not one that a list returned")
	}
	return u, nil
}

func sequenceToken(sequence int64) string {
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint64(nil, uint64(sequence)))
}

// afterSequence reads the page token of a ledger.
func afterSequence(token string) (int64, error) {
	if token == "" {
		return 0, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(raw) != 8 || raw[0] > 0x7f {
		return 0, fault.InvalidParameter("page_token", "format", "is not one that a list returned")
	}
	return int64(binary.BigEndian.Uint64(raw)), nil
}
