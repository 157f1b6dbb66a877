package auth

import (
	"context"
	"errors"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// CreateCompany implements CompanyService.
func (s *Server) CreateCompany(ctx context.Context, req *authv1.CreateCompanyRequest) (*authv1.CreateCompanyResponse, error) {
	var check checks
	c := Company{
		Name: check.Line("name", req.GetName(), 1, maxName), Timezone: req.GetTimezone(), Currency: req.GetCurrency(),
		UniqueEmails: req.GetUniqueCustomerEmails(), OptionalEmails: req.GetOptionalCustomerEmails(),
	}
	check.Timezone("timezone", c.Timezone)
	check.Currency("currency", c.Currency)
	if err := check.Err(); err != nil {
		return nil, err
	}
	c.ID, c.Version, c.CreatedAt = id.Company(s.newID()), 1, s.instant()
	c.UpdatedAt = c.CreatedAt
	resp := &authv1.CreateCompanyResponse{}
	return idem.Write(ctx, s.store, id.Company{}, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		resp.Company = companyMessage(c)
		return errors.Join(
			s.store.insertCompany(ctx, tx, c),
			s.store.audit(ctx, tx, c.ID, c.CreatedAt, rpc.Caller(ctx), "company.create", c.ID.String(), c.facts()...),
			s.outbox.Append(ctx, tx, companyCreated(c)))
	})
}

// GetCompany implements CompanyService.
func (s *Server) GetCompany(ctx context.Context, req *authv1.GetCompanyRequest) (*authv1.GetCompanyResponse, error) {
	company, err := ownOrAny(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	c, err := s.store.company(ctx, company)
	if err != nil {
		return nil, err
	}
	return &authv1.GetCompanyResponse{Company: companyMessage(c)}, nil
}

// UpdateCompany implements CompanyService. It responds after every copy of the company is up to
// date. A repeated request refreshes the copies again even if it changes nothing, because the first
// attempt may have failed there.
func (s *Server) UpdateCompany(ctx context.Context, req *authv1.UpdateCompanyRequest) (*authv1.UpdateCompanyResponse, error) {
	company, err := ownOrAny(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	if company.IsTest() {
		return nil, testMode("change the company in live mode; the test mode follows")
	}
	fields, err := companyFields{
		name: req.Name, timezone: req.Timezone, currency: req.Currency,
		uniqueEmails: req.UniqueCustomerEmails, optionalEmails: req.OptionalCustomerEmails,
	}.checked()
	if err != nil {
		return nil, err
	}
	resp := &authv1.UpdateCompanyResponse{}
	_, err = idem.Write(ctx, s.store, company, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		c, err := s.store.lockCompany(ctx, tx, company)
		if err != nil {
			return err
		}
		before := c
		changed := c.update(fields, s.instant())
		resp.Company = companyMessage(c)
		if !changed {
			return nil
		}
		return errors.Join(
			s.store.updateCompany(ctx, tx, c),
			s.store.audit(ctx, tx, company, c.UpdatedAt, rpc.Caller(ctx), "company.update", company.String(), differences(before.facts(), c.facts())...),
			s.outbox.Append(ctx, tx, companyUpdated(c)))
	})
	if err == nil && fields.areCopied() {
		err = s.companyCopies.refresh(ctx, company)
	}
	if err == nil {
		err = s.updateTestCompany(ctx, company, rpc.Caller(ctx))
	}
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// ListCompanies implements CompanyService.
func (s *Server) ListCompanies(ctx context.Context, req *authv1.ListCompaniesRequest) (*authv1.ListCompaniesResponse, error) {
	list, next, err := listPage(page.Of(req), byID("company_id"),
		func(p page.Page) ([]Company, error) { return s.store.companies(ctx, p) },
		func(c *Company) page.Cursor { return page.Cursor{ID: c.ID.UUID()} })
	if err != nil {
		return nil, err
	}
	resp := &authv1.ListCompaniesResponse{NextPageToken: next}
	for _, c := range list {
		resp.Companies = append(resp.Companies, companyMessage(c))
	}
	return resp, nil
}

// ownOrAny returns the company of the call if text is empty. A call without a company, which only
// platform credentials can make, can name any company.
func ownOrAny(ctx context.Context, text string) (id.Company, error) {
	if text == "" {
		return rpc.Tenant(ctx)
	}
	company, err := id.Parse[id.Company](text)
	if err != nil || (company != rpc.Company(ctx) && !isPlatform(ctx)) {
		return company, fault.Missing("company")
	}
	return company, nil
}
