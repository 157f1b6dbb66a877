package reservectl

import (
	"github.com/spf13/cobra"

	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

func (a *app) companyCommand() *cobra.Command {
	return group("company", "Companies, the tenants of the platform", a.companyCreate(), a.companyUpdate(), a.companyList())
}

func (a *app) companyCreate() *cobra.Command {
	var req authv1.CreateCompanyRequest
	c := &cobra.Command{
		Use: "create", Short: "Create a company", Args: exactly(),
		Example: `  reservectl company create --name "Riverside Yoga" --timezone Europe/London --currency GBP`,
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := a.platform(c.Context())
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
	c.Flags().BoolVar(&req.UniqueCustomerEmails, "unique-emails", false, "no two customers may have the same e-mail address")
	_ = c.RegisterFlagCompletionFunc("timezone", cobra.FixedCompletions(zoneRegions(), cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace))
	_ = c.RegisterFlagCompletionFunc("currency", cobra.FixedCompletions([]string{"GBP", "EUR", "USD"}, cobra.ShellCompDirectiveNoFileComp))
	return required(c, "name", "timezone", "currency")
}

func (a *app) companyUpdate() *cobra.Command {
	var name, timezone, currency string
	var unique bool
	c := &cobra.Command{
		Use: "update", Short: "Change the company of --company; what is not given stays", Args: exactly(),
		Example: `  reservectl company update --company comp_… --unique-emails=false`,
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := a.auth(c.Context())
			if err != nil {
				return err
			}
			defer s.close()
			company, err := a.company()
			if err != nil {
				return err
			}
			req := &authv1.UpdateCompanyRequest{Id: company}
			for flag, set := range map[string]func(){
				"name":          func() { req.Name = &name },
				"timezone":      func() { req.Timezone = &timezone },
				"currency":      func() { req.Currency = &currency },
				"unique-emails": func() { req.UniqueCustomerEmails = &unique },
			} {
				if c.Flags().Changed(flag) {
					set()
				}
			}
			res, err := authv1.NewCompanyServiceClient(s.conn).UpdateCompany(s.ctx, req)
			if err != nil {
				return err
			}
			return a.printOne(companyRow(res.GetCompany()))
		},
	}
	c.Flags().StringVar(&name, "name", "", "the company's name")
	c.Flags().StringVar(&timezone, "timezone", "", "its IANA time zone, as Europe/London")
	c.Flags().StringVar(&currency, "currency", "", "its currency: GBP, EUR or USD")
	c.Flags().BoolVar(&unique, "unique-emails", false, "no two customers may have the same e-mail address")
	return c
}

func (a *app) companyList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List all companies", Args: exactly(),
		Example: `  reservectl company list --output table`,
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := a.platform(c.Context())
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
	return row{
		{"id", c.GetId()}, {"name", c.GetName()}, {"timezone", c.GetTimezone()}, {"currency", c.GetCurrency()},
		{"unique_customer_emails", c.GetUniqueCustomerEmails()},
	}
}
