package auth

import (
	"context"
	"errors"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// CreateCompany implements CompanyService.
func (s *Server) CreateCompany(ctx context.Context, req *authv1.CreateCompanyRequest) (*authv1.CreateCompanyResponse, error) {
	var check checks
	c := Company{
		Name: check.text("name", req.GetName(), 1, maxName), Timezone: req.GetTimezone(), Currency: req.GetCurrency(),
		UniqueEmails: req.GetUniqueCustomerEmails(),
	}
	check.timezone("timezone", c.Timezone)
	check.currency("currency", c.Currency)
	if err := check.err(); err != nil {
		return nil, err
	}
	c.ID, c.Version, c.CreatedAt = id.Company(s.newID()), 1, s.instant()
	c.UpdatedAt = c.CreatedAt
	var resp *authv1.CreateCompanyResponse
	err := s.store.Write(ctx, id.Company{}, func(ctx context.Context, tx *pg.Tx) error {
		resp = &authv1.CreateCompanyResponse{}
		return idem.Do(ctx, tx, req, resp, func() error {
			resp.Company = companyMessage(c)
			return errors.Join(
				s.store.insertCompany(ctx, tx, c),
				s.store.audit(ctx, tx, c.ID, c.CreatedAt, rpc.Caller(ctx), "company.create", c.ID.String(), c.facts()...),
				s.outbox.Append(ctx, tx, companyCreated(c)))
		})
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
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

// UpdateCompany implements CompanyService. It answers once every copy of the company
// is the present one. A repetition refreshes the copies again, though it changes
// nothing: the first attempt may have failed there.
func (s *Server) UpdateCompany(ctx context.Context, req *authv1.UpdateCompanyRequest) (*authv1.UpdateCompanyResponse, error) {
	company, err := ownOrAny(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	var check checks
	name := ""
	if req.Name != nil {
		name = check.text("name", req.GetName(), 1, maxName)
	}
	if req.Timezone != nil {
		check.timezone("timezone", req.GetTimezone())
	}
	if req.Currency != nil {
		check.currency("currency", req.GetCurrency())
	}
	if err := check.err(); err != nil {
		return nil, err
	}
	var resp *authv1.UpdateCompanyResponse
	err = s.store.Write(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		resp = &authv1.UpdateCompanyResponse{}
		return idem.Do(ctx, tx, req, resp, func() error {
			c, err := s.store.lockCompany(ctx, tx, company)
			if err != nil {
				return err
			}
			before := c
			if req.Name != nil {
				c.Name = name
			}
			if req.Timezone != nil {
				c.Timezone = req.GetTimezone()
			}
			if req.Currency != nil {
				c.Currency = req.GetCurrency()
			}
			if req.UniqueCustomerEmails != nil {
				c.UniqueEmails = req.GetUniqueCustomerEmails()
			}
			if c == before {
				resp.Company = companyMessage(c)
				return nil
			}
			c.Version++
			c.UpdatedAt = s.instant()
			resp.Company = companyMessage(c)
			return errors.Join(
				s.store.updateCompany(ctx, tx, c),
				s.store.audit(ctx, tx, company, c.UpdatedAt, rpc.Caller(ctx), "company.update", company.String(), differences(before.facts(), c.facts())...),
				s.outbox.Append(ctx, tx, companyUpdated(c)))
		})
	})
	if err != nil {
		return nil, err
	}
	if req.Timezone != nil || req.Currency != nil || req.UniqueCustomerEmails != nil {
		err = s.copies.refresh(ctx, company)
	}
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// ListCompanies implements CompanyService.
func (s *Server) ListCompanies(ctx context.Context, req *authv1.ListCompaniesRequest) (*authv1.ListCompaniesResponse, error) {
	size, after, err := page(req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	list, err := s.store.companies(ctx, after, size+1)
	if err != nil {
		return nil, err
	}
	resp := &authv1.ListCompaniesResponse{}
	if len(list) > size {
		list = list[:size]
		resp.NextPageToken = list[size-1].ID.UUID().String()
	}
	for _, c := range list {
		resp.Companies = append(resp.Companies, companyMessage(c))
	}
	return resp, nil
}

// ownOrAny returns the company of the call if text names none. A call for no
// company, which only the platform's credentials can make, may name any.
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
