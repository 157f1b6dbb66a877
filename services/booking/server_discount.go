package booking

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

const (
	insertDiscountSQL = `insert into discount_codes (company_id, id, code, basis_points, amount, currency, valid_from, valid_until,
			max_uses, event_ids, created_at, updated_at)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11)`

	saveDiscountSQL = `update discount_codes set valid_from = $3, valid_until = $4, max_uses = $5, disabled = $6, version = $7, updated_at = $8
		where company_id = $1 and id = $2`

	knownEventsSQL = `select id from events where company_id = $1 and id = any($2) and deleted_at is null`

	discountByIDSQL   = `select ` + discountColumns + ` from discount_codes where company_id = $1 and id = $2`
	discountByCodeSQL = `select ` + discountColumns + ` from discount_codes where company_id = $1 and lower(code) = lower($2)`
	discountsSQL      = `select ` + discountColumns + ` from discount_codes where company_id = $1 and id > $2 order by id limit $3`
	countDiscountsSQL = `select count(*) from discount_codes where company_id = $1`
)

// CreateDiscountCode implements DiscountService.
func (s *Server) CreateDiscountCode(ctx context.Context, req *bookingv1.CreateDiscountCodeRequest) (*bookingv1.CreateDiscountCodeResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	c := &discountCode{
		ID: id.DiscountCode(s.newID()), Code: strings.TrimSpace(req.GetCode()), MaxUses: req.MaxUses, Version: 1, Events: []id.Event{},
		ValidFrom: optionalInstant(req.GetValidFrom()), ValidUntil: optionalInstant(req.GetValidUntil()),
		CreatedAt: s.now().Truncate(time.Microsecond),
	}
	c.UpdatedAt = c.CreatedAt
	switch r := req.GetReduction().(type) {
	case *bookingv1.CreateDiscountCodeRequest_BasisPoints:
		c.BasisPoints = &r.BasisPoints
	case *bookingv1.CreateDiscountCodeRequest_Amount:
		c.Amount = &r.Amount
		if c.Currency = req.GetCurrency(); c.Currency == "" {
			c.Currency = company.Currency
		}
	}
	var faults fields
	c.Events = faults.events("event_ids", req.GetEventIds())
	c.check(&faults)
	if err := faults.err(); err != nil {
		return nil, err
	}
	resp := &bookingv1.CreateDiscountCodeResponse{}
	err = s.write(ctx, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		if err := checkEvents(ctx, tx, company.ID, "event_ids", c.Events); err != nil {
			return err
		}
		resp.DiscountCode = discountToProto(c)
		_, err := tx.Exec(ctx, insertDiscountSQL, company.ID, c.ID, c.Code, c.BasisPoints, c.Amount, orNull(c.Currency),
			c.ValidFrom, c.ValidUntil, c.MaxUses, c.Events, c.CreatedAt)
		return err
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// events reads a list of event identifiers.
func (f *fields) events(field string, list []string) []id.Event {
	out := make([]id.Event, len(list))
	seen := make(map[id.Event]bool, len(list))
	for i, text := range list {
		event, err := id.Parse[id.Event](text)
		switch {
		case err != nil:
			f.add(fmt.Sprintf("%s[%d]", field, i), "exists", "does not exist")
		case seen[event]:
			f.add(fmt.Sprintf("%s[%d]", field, i), "unique", "is in the list twice")
		}
		out[i], seen[event] = event, true
	}
	return out
}

// checkEvents refuses identifiers that are of no event of the company.
func checkEvents(ctx context.Context, tx *pg.Tx, company id.Company, field string, events []id.Event) error {
	if len(events) == 0 {
		return nil
	}
	known := make(map[id.Event]bool, len(events))
	err := tx.Pipeline(ctx, pg.Query{SQL: knownEventsSQL, Args: []any{company, events}, Scan: each(func(rows pgx.Rows) error {
		var event id.Event
		err := rows.Scan(&event)
		known[event] = true
		return err
	})})
	if err != nil {
		return err
	}
	var faults fields
	for i, event := range events {
		if !known[event] {
			faults.add(fmt.Sprintf("%s[%d]", field, i), "exists", "does not exist")
		}
	}
	return faults.err()
}

// GetDiscountCode implements DiscountService.
func (s *Server) GetDiscountCode(ctx context.Context, req *bookingv1.GetDiscountCodeRequest) (*bookingv1.GetDiscountCodeResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	sql, which := discountByCodeSQL, any(req.GetCode())
	if req.GetId() != "" {
		code, err := id.Parse[id.DiscountCode](req.GetId())
		if err != nil {
			return nil, fault.Missing("discount code")
		}
		sql, which = discountByIDSQL, code
	} else if !codeFormat.MatchString(req.GetCode()) {
		return nil, fault.Missing("discount code")
	}
	var found []discountCode
	err = s.store.read(ctx, company.ID, pg.Query{SQL: sql, Args: []any{company.ID, which}, Scan: scanDiscounts(&found)})
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, fault.Missing("discount code")
	}
	return &bookingv1.GetDiscountCodeResponse{DiscountCode: discountToProto(&found[0])}, nil
}

// ListDiscountCodes implements DiscountService.
func (s *Server) ListDiscountCodes(ctx context.Context, req *bookingv1.ListDiscountCodesRequest) (*bookingv1.ListDiscountCodesResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	size := int(req.GetPageSize())
	if size == 0 {
		size = 50
	}
	if size < 1 || size > 200 {
		return nil, fault.InvalidParameter("page_size", "range", "must be 1 to 200")
	}
	var after id.DiscountCode
	if req.GetPageToken() != "" {
		if after, err = id.Parse[id.DiscountCode](req.GetPageToken()); err != nil {
			return nil, fault.InvalidParameter("page_token", "format", "is not a token of an earlier answer")
		}
	}
	var page []discountCode
	resp := &bookingv1.ListDiscountCodesResponse{}
	err = s.store.read(ctx, company.ID,
		pg.Query{SQL: discountsSQL, Args: []any{company.ID, [16]byte(after), size + 1}, Scan: scanDiscounts(&page)},
		pg.Query{SQL: countDiscountsSQL, Args: []any{company.ID}, Scan: each(func(rows pgx.Rows) error { return rows.Scan(&resp.Total) })})
	if err != nil {
		return nil, err
	}
	if len(page) > size {
		page = page[:size]
		resp.NextPageToken = page[size-1].ID.String()
	}
	for i := range page {
		resp.DiscountCodes = append(resp.DiscountCodes, discountToProto(&page[i]))
	}
	return resp, nil
}

// UpdateDiscountCode implements DiscountService.
func (s *Server) UpdateDiscountCode(ctx context.Context, req *bookingv1.UpdateDiscountCodeRequest) (*bookingv1.UpdateDiscountCodeResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	which, err := id.Parse[id.DiscountCode](req.GetId())
	if err != nil {
		return nil, fault.Missing("discount code")
	}
	resp := &bookingv1.UpdateDiscountCodeResponse{}
	err = s.write(ctx, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		var found []discountCode
		err := tx.Pipeline(ctx, pg.Query{SQL: discountByIDSQL + ` for no key update`, Args: []any{company.ID, which}, Scan: scanDiscounts(&found)})
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return fault.Missing("discount code")
		}
		c := &found[0]
		if req.GetValidFrom() != nil {
			c.ValidFrom = optionalInstant(req.GetValidFrom())
		}
		if req.GetValidUntil() != nil {
			c.ValidUntil = optionalInstant(req.GetValidUntil())
		}
		if req.GetNoValidFrom() {
			c.ValidFrom = nil
		}
		if req.GetNoValidUntil() {
			c.ValidUntil = nil
		}
		if req.MaxUses != nil {
			if c.MaxUses = req.MaxUses; *req.MaxUses == 0 {
				c.MaxUses = nil
			}
		}
		if req.Disabled != nil {
			c.Disabled = *req.Disabled
		}
		var faults fields
		if c.checkUse(&faults); faults.err() != nil {
			return faults.err()
		}
		c.Version++
		c.UpdatedAt = s.now().Truncate(time.Microsecond)
		resp.DiscountCode = discountToProto(c)
		_, err = tx.Exec(ctx, saveDiscountSQL, company.ID, c.ID, c.ValidFrom, c.ValidUntil, c.MaxUses, c.Disabled, c.Version, c.UpdatedAt)
		return err
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

func scanDiscounts(into *[]discountCode) func(pgx.Rows) error {
	return each(func(rows pgx.Rows) error {
		var c discountCode
		err := c.scan(rows)
		*into = append(*into, c)
		return err
	})
}

// optionalInstant reads an instant that may be absent.
func optionalInstant(t *timestamppb.Timestamp) *time.Time {
	if t == nil {
		return nil
	}
	at := instantOf(t)
	return &at
}

func discountToProto(c *discountCode) *bookingv1.DiscountCode {
	out := &bookingv1.DiscountCode{
		Id: c.ID.String(), Code: c.Code, Currency: c.Currency, MaxUses: c.MaxUses, Uses: c.Uses, Disabled: c.Disabled, Version: c.Version,
		CreatedAt: timestamppb.New(c.CreatedAt), UpdatedAt: timestamppb.New(c.UpdatedAt),
	}
	if c.BasisPoints != nil {
		out.Reduction = &bookingv1.DiscountCode_BasisPoints{BasisPoints: *c.BasisPoints}
	} else if c.Amount != nil {
		out.Reduction = &bookingv1.DiscountCode_Amount{Amount: *c.Amount}
	}
	if c.ValidFrom != nil {
		out.ValidFrom = timestamppb.New(*c.ValidFrom)
	}
	if c.ValidUntil != nil {
		out.ValidUntil = timestamppb.New(*c.ValidUntil)
	}
	for _, event := range c.Events {
		out.EventIds = append(out.EventIds, event.String())
	}
	return out
}

// codeTaken is the fault of a code that exists.
func codeTaken() *fault.Error {
	return fault.InvalidFields(fault.Field{Field: "code", Rule: "unique", Message: "exists already"})
}
