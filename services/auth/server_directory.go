package auth

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// directoryPage is the number of companies or credentials in a message.
const directoryPage = 1000

// StreamCompanies implements DirectoryService.
func (s *Server) StreamCompanies(req *authv1.StreamCompaniesRequest, out grpc.ServerStreamingServer[authv1.StreamCompaniesResponse]) error {
	ctx := out.Context()
	wanted, err := companyIDs(req.GetCompanyIds())
	if err != nil {
		return err
	}
	after, err := madeBefore(req.GetCreatedSince())
	if err != nil {
		return err
	}
	send := func(companies []directoryCompany) error {
		if len(companies) == 0 {
			return nil
		}
		resp := &authv1.StreamCompaniesResponse{Companies: make([]*authv1.DirectoryCompany, len(companies))}
		for i, c := range companies {
			resp.Companies[i] = directoryCompanyMessage(c)
		}
		return out.Send(resp)
	}
	pages := page.Keyset[id.UUID, directoryCompany]{
		Size: directoryPage, Key: func(c *directoryCompany) id.UUID { return c.ID.UUID() }, Send: send,
		Read: func(ctx context.Context, after id.UUID) ([]directoryCompany, error) {
			return s.store.movingCompanies(ctx, after, directoryPage)
		},
	}
	if err := pages.Stream(ctx, id.UUID{}); err != nil {
		return err
	}
	if len(wanted) > 0 {
		companies, err := s.store.directoryCompaniesByID(ctx, wanted)
		if err != nil {
			return err
		}
		if err := send(companies); err != nil {
			return err
		}
	}
	pages.Read = func(ctx context.Context, after id.UUID) ([]directoryCompany, error) {
		return s.store.directoryCompanies(ctx, after, directoryPage)
	}
	return pages.Stream(ctx, after)
}

// StreamCredentials implements DirectoryService.
func (s *Server) StreamCredentials(req *authv1.StreamCredentialsRequest, out grpc.ServerStreamingServer[authv1.StreamCredentialsResponse]) error {
	after, err := madeBefore(req.GetCreatedSince())
	if err != nil {
		return err
	}
	return page.Keyset[id.UUID, directoryCredential]{
		Size: directoryPage, Key: func(c *directoryCredential) id.UUID { return c.ID },
		Read: func(ctx context.Context, after id.UUID) ([]directoryCredential, error) {
			return s.store.directoryCredentials(ctx, after, directoryPage)
		},
		Send: func(credentials []directoryCredential) error {
			resp := &authv1.StreamCredentialsResponse{Credentials: make([]*authv1.DirectoryCredential, len(credentials))}
			for i, c := range credentials {
				resp.Credentials[i] = directoryCredentialMessage(c)
			}
			return out.Send(resp)
		},
	}.Stream(out.Context(), after)
}

// ListMasterKeys implements DirectoryService.
func (s *Server) ListMasterKeys(context.Context, *authv1.ListMasterKeysRequest) (*authv1.ListMasterKeysResponse, error) {
	return &authv1.ListMasterKeysResponse{KeyIds: s.sealer.KeyIDs()}, nil
}

// madeBefore returns a UUID before all that are made at a time or later; the zero value, which is before
// all, for no time.
func madeBefore(since *timestamppb.Timestamp) (id.UUID, error) {
	if since == nil {
		return id.UUID{}, nil
	}
	if err := since.CheckValid(); err != nil {
		return id.UUID{}, fault.InvalidFields(fault.Field{Field: "created_since", Rule: "format", Message: "must be a time between the years 1 and 9999"})
	}
	return id.First(since.AsTime()), nil
}

// companyIDs parses the identifiers of companies in live mode.
func companyIDs(texts []string) ([]id.Company, error) {
	companies := make([]id.Company, len(texts))
	for i, text := range texts {
		company, err := id.Parse[id.Company](text)
		if err != nil || company.IsTest() {
			return nil, fault.InvalidFields(fault.Field{
				Field: fmt.Sprintf("company_ids[%d]", i), Rule: "format", Message: "must be a comp_ identifier of a company in live mode",
			})
		}
		companies[i] = company
	}
	return companies, nil
}
