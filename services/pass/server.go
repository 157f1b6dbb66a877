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
	"reservation.dev/platform/privacy"
	"reservation.dev/platform/rpc"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
)

// Server answers the RPCs of PassService.
type Server struct {
	passv1.UnimplementedPassServiceServer
	customerv1.UnimplementedCustomerDeletionServiceServer

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
		privacyv1.PersonalDataService_ExportPersonalData_FullMethodName: "privacy:read",

		customerv1.CustomerDeletionService_ConfirmCustomerDeletion_FullMethodName: "customers:write|privacy:write",

		passv1.PassService_CreatePassType_FullMethodName:     "passes:write",
		passv1.PassService_GetPassType_FullMethodName:        "passes:read",
		passv1.PassService_ListPassTypes_FullMethodName:      "passes:read",
		passv1.PassService_AssignCustomerPass_FullMethodName: "customer-passes:write",
		passv1.PassService_GetCustomerPass_FullMethodName:    "customer-passes:read",
		passv1.PassService_ListCustomerPasses_FullMethodName: "customer-passes:read",
		passv1.PassService_ListLedgerEntries_FullMethodName:  "customer-passes:read",
		passv1.PassService_UpdatePassType_FullMethodName:     "passes:write",
		passv1.PassService_UpdateCustomerPass_FullMethodName: "customer-passes:write",
		passv1.PassService_AdjustCredits_FullMethodName:      "customer-passes:write",
		passv1.PassService_ListEligiblePasses_FullMethodName: "customer-passes:read",
		passv1.PassService_RedeemCredits_FullMethodName:      "redemptions:write",
		passv1.PassService_ReturnCredits_FullMethodName:      "redemptions:write",
		passv1.PassService_CancelRedemption_FullMethodName:   "redemptions:write",
		passv1.PassService_VerifyPasses_FullMethodName:       "platform:admin|customer-passes:read",
		passv1.PassService_ExportRedemptions_FullMethodName:  "platform:admin|customer-passes:read",
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
	l, err := newList(req.GetOrder(), req.GetPageToken(), req.GetOffset(), req.GetPageSize())
	if err != nil {
		return nil, err
	}
	l.where = of(company.ID)
	switch req.GetStatus() {
	case passv1.PassTypeStatus_PASS_TYPE_STATUS_UNSPECIFIED:
	case passv1.PassTypeStatus_PASS_TYPE_STATUS_ACTIVE:
		l.where.add("status = 'active'")
	case passv1.PassTypeStatus_PASS_TYPE_STATUS_ARCHIVED:
		l.where.add("status = 'archived'")
	default:
		return nil, fault.InvalidParameter("status", "enum", "must be active or archived")
	}
	if err := l.where.updatedSince(req.GetUpdatedSince()); err != nil {
		return nil, err
	}
	page, total, err := s.store.passTypes(ctx, company.ID, l)
	if err != nil {
		return nil, err
	}
	resp := &passv1.ListPassTypesResponse{Total: total}
	if len(page) > l.size {
		page = page[:l.size]
		last := &page[l.size-1]
		resp.NextPageToken = l.token(last.CreatedAt, last.UpdatedAt, last.ID.UUID())
	}
	for _, t := range page {
		resp.PassTypes = append(resp.PassTypes, passTypeMessage(t))
	}
	return resp, nil
}

// UpdatePassType implements PassService.
func (s *Server) UpdatePassType(ctx context.Context, req *passv1.UpdatePassTypeRequest) (*passv1.UpdatePassTypeResponse, error) {
	company, passType, err := named[id.PassType](ctx, s, req.GetId(), "pass type")
	if err != nil {
		return nil, err
	}
	var resp *passv1.UpdatePassTypeResponse
	err = s.store.inTx(ctx, company.ID, func(ctx context.Context, tx *pg.Tx) error {
		resp = &passv1.UpdatePassTypeResponse{}
		return idem.Do(ctx, tx, req, resp, func() error {
			t, err := s.store.lockPassType(ctx, tx, company.ID, passType)
			if err != nil {
				return err
			}
			if err := expect(t.Version, req.ExpectedVersion, "pass type"); err != nil {
				return err
			}
			changed, err := t.update(req)
			if err != nil {
				return err
			}
			if changed {
				t.Version++
				t.UpdatedAt = instant(s.now())
			}
			resp.PassType = passTypeMessage(t)
			if !changed {
				return nil
			}
			if err := s.store.savePassType(ctx, tx, company.ID, t); err != nil {
				return err
			}
			return s.outbox.Append(ctx, tx, passTypeUpdated(company.ID, resp.GetPassType()))
		})
	})
	if err != nil {
		return nil, err
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
	if t.Status == typeArchived {
		return nil, archivedType()
	}
	paid, err := newPurchase(req.GetPurchase(), t)
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
		PaidGross: paid.PaidGross, PaidCurrency: paid.PaidCurrency, PaidMethod: paid.PaidMethod, PaidReference: paid.PaidReference,
	}
	p.UpdatedAt = p.CreatedAt
	var resp *passv1.AssignCustomerPassResponse
	err = s.store.inTx(ctx, company.ID, func(ctx context.Context, tx *pg.Tx) error {
		resp = &passv1.AssignCustomerPassResponse{}
		return idem.Do(ctx, tx, req, resp, func() error {
			// Who was there a moment ago may have been erased since.
			erased, err := privacy.Erased(ctx, tx, company.ID, customer)
			if err != nil {
				return err
			}
			if erased {
				return fault.Missing("customer")
			}
			// The customer or the type may have gone since they were looked at.
			if err := tx.Pipeline(ctx, append(presentCustomer(company.ID, customer), onOffer(company.ID, t.ID))...); err != nil {
				return err
			}
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
	l, err := newList(req.GetOrder(), req.GetPageToken(), req.GetOffset(), req.GetPageSize())
	if err != nil {
		return nil, err
	}
	now := s.now()
	l.where = of(company.ID)
	if !customer.IsZero() {
		l.where.add("customer_id = %s", customer)
	}
	if req.GetPassTypeId() != "" {
		passType, err := id.Parse[id.PassType](req.GetPassTypeId())
		if err != nil {
			return nil, fault.Missing("pass type")
		}
		l.where.add("pass_type_id = %s", passType)
	}
	if err := l.where.statusNow(req.GetStatus(), dayOf(now, company.Zone)); err != nil {
		return nil, err
	}
	if err := l.where.updatedSince(req.GetUpdatedSince()); err != nil {
		return nil, err
	}
	page, total, err := s.store.customerPasses(ctx, company.ID, l)
	if err != nil {
		return nil, err
	}
	resp := &passv1.ListCustomerPassesResponse{Total: total}
	if len(page) > l.size {
		page = page[:l.size]
		last := &page[l.size-1]
		resp.NextPageToken = l.token(last.CreatedAt, last.UpdatedAt, last.ID.UUID())
	}
	for _, p := range page {
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
