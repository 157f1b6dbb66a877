package reservectl

import (
	"github.com/spf13/cobra"

	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

func (a *app) companyCommand() *cobra.Command {
	return group("company", "Companies, the tenants of the platform", a.companyCreate(), a.companyList())
}

func (a *app) companyCreate() *cobra.Command {
	var req authv1.CreateCompanyRequest
	c := &cobra.Command{
		Use: "create", Short: "Create a company", Args: exactly(),
		Example: `  reservectl company create --name "Riverside Yoga" --timezone Europe/London --currency GBP`,
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := a.auth(c.Context())
			if err != nil {
				return err
			}
			defer s.close()
			res, err := authv1.NewCompanyServiceClient(s.conn).CreateCompany(s.ctx, &req)
			if hint := zoneHint(req.GetTimezone()); err != nil && hint != "" {
				return hinted{err, hint}
			}
			if err != nil {
				return err
			}
			return a.printOne(companyRow(res.GetCompany()))
		},
	}
	c.Flags().StringVar(&req.Name, "name", "", "the company's name")
	c.Flags().StringVar(&req.Timezone, "timezone", "", "its IANA time zone, as Europe/London")
	c.Flags().StringVar(&req.Currency, "currency", "", "its currency: GBP, EUR or USD")
	_ = c.RegisterFlagCompletionFunc("timezone", cobra.FixedCompletions(zoneRegions(), cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace))
	_ = c.RegisterFlagCompletionFunc("currency", cobra.FixedCompletions([]string{"GBP", "EUR", "USD"}, cobra.ShellCompDirectiveNoFileComp))
	return required(c, "name", "timezone", "currency")
}

func (a *app) companyList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List all companies", Args: exactly(),
		Example: `  reservectl company list --output table`,
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := a.auth(c.Context())
			if err != nil {
				return err
			}
			defer s.close()
			var rows []row
			for req := (&authv1.ListCompaniesRequest{PageSize: 1000}); ; {
				res, err := authv1.NewCompanyServiceClient(s.conn).ListCompanies(s.ctx, req)
				if err != nil {
					return err
				}
				for _, company := range res.GetCompanies() {
					rows = append(rows, companyRow(company))
				}
				if req.PageToken = res.GetNextPageToken(); req.PageToken == "" {
					return a.printAll(rows, "no companies yet; see reservectl company create --help")
				}
			}
		},
	}
}

func companyRow(c *authv1.Company) row {
	return row{{"id", c.GetId()}, {"name", c.GetName()}, {"timezone", c.GetTimezone()}, {"currency", c.GetCurrency()}}
}
