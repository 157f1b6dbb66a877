package reservectl

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/money"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

func (a *app) companyCommand() *cobra.Command {
	return group("company", "Manage the companies on the platform", a.companyCreate(), a.companyUpdate(), a.companyList(), a.companyMove())
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
				return hintedError{err, hint}
			}
			if err != nil {
				return err
			}
			return a.printOne(companyRow(res.GetCompany()))
		},
	}
	c.Flags().StringVar(&req.Name, "name", "", "name of the company")
	c.Flags().StringVar(&req.Timezone, "timezone", "", timezoneUsage)
	c.Flags().StringVar(&req.Currency, "currency", "", currencyUsage())
	c.Flags().BoolVar(&req.UniqueCustomerEmails, "unique-emails", false, uniqueEmailsUsage)
	c.Flags().BoolVar(&req.OptionalCustomerEmails, "optional-emails", false, optionalEmailsUsage)
	_ = c.RegisterFlagCompletionFunc("timezone", cobra.FixedCompletions(zoneRegions(), cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace))
	completeFlag(c, "currency", money.Currencies())
	return required(c, "name", "timezone", "currency")
}

func (a *app) companyUpdate() *cobra.Command {
	var name, timezone, currency string
	var unique, optional bool
	c := &cobra.Command{
		Use: "update", Short: "Change the company that --company names; flags that are not given change nothing", Args: exactly(),
		Example: `  reservectl company update --company comp_… --unique-emails=false`,
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := a.forCompany(a.auth)(c.Context())
			if err != nil {
				return err
			}
			defer s.close()
			res, err := authv1.NewCompanyServiceClient(s.conn).UpdateCompany(s.ctx, &authv1.UpdateCompanyRequest{
				Id: a.access.CompanyID, Name: flagValue(c, "name", &name), Timezone: flagValue(c, "timezone", &timezone),
				Currency: flagValue(c, "currency", &currency), UniqueCustomerEmails: flagValue(c, "unique-emails", &unique),
				OptionalCustomerEmails: flagValue(c, "optional-emails", &optional),
			})
			if err != nil {
				return err
			}
			return a.printOne(companyRow(res.GetCompany()))
		},
	}
	c.Flags().StringVar(&name, "name", "", "name of the company")
	c.Flags().StringVar(&timezone, "timezone", "", timezoneUsage)
	c.Flags().StringVar(&currency, "currency", "", currencyUsage())
	c.Flags().BoolVar(&unique, "unique-emails", false, uniqueEmailsUsage)
	c.Flags().BoolVar(&optional, "optional-emails", false, optionalEmailsUsage)
	return c
}

func (a *app) companyList() *cobra.Command {
	companies := resource[authv1.CompanyServiceClient]{app: a, open: a.platform, client: authv1.NewCompanyServiceClient}
	c := companies.list("List all companies", "no companies yet; see reservectl company create --help",
		func(ctx context.Context, client authv1.CompanyServiceClient, pageToken string) ([]row, string, error) {
			res, err := client.ListCompanies(ctx, &authv1.ListCompaniesRequest{PageSize: listSize, PageToken: pageToken})
			return rowsOf(res.GetCompanies(), companyRow), res.GetNextPageToken(), err
		})
	c.Example = `  reservectl company list --output table`
	return c
}

func companyRow(c *authv1.Company) row {
	return row{
		{"id", c.GetId()}, {"name", c.GetName()}, {"timezone", c.GetTimezone()}, {"currency", c.GetCurrency()},
		{"unique_customer_emails", c.GetUniqueCustomerEmails()}, {"optional_customer_emails", c.GetOptionalCustomerEmails()},
	}
}

// The help of the flags that create and update share.
const (
	timezoneUsage       = "IANA time zone, for example Europe/London"
	uniqueEmailsUsage   = "refuse two customers with the same e-mail address"
	optionalEmailsUsage = "allow customers without an e-mail address"
)

// currencyUsage returns the help of --currency.
func currencyUsage() string {
	return "currency: " + strings.TrimPrefix(fault.OneOf(money.Currencies()), "must be ")
}
