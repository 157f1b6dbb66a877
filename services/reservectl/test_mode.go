package reservectl

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"reservation.dev/platform/id"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// withTestMode adds --test to commands. All their calls are for a company.
func (a *app) withTestMode(commands ...*cobra.Command) []*cobra.Command {
	for _, c := range commands {
		c.PersistentFlags().BoolVar(&a.access.test, "test", false, "act in the test mode of the company, and enable it if necessary")
	}
	return commands
}

// enableTestMode returns the company in test mode that belongs to a company, and acts for it from then
// on.
func (a *app) enableTestMode(ctx context.Context, company id.Company) (id.Company, error) {
	if company.IsZero() {
		return company, usageError{errors.New("the test mode belongs to a company: --company is required (comp_…)")}
	}
	s, err := a.dialAs(ctx, "auth", a.access.GRPC.Auth, company)
	if err != nil {
		return company, err
	}
	defer s.close()
	if _, err := authv1.NewTestModeServiceClient(s.conn).EnableTestMode(s.ctx, &authv1.EnableTestModeRequest{}); err != nil {
		return company, err
	}
	a.access.CompanyID = company.Test().String()
	return company.Test(), nil
}

// testModeCommand returns the commands of the test mode itself, which need no --test.
func (a *app) testModeCommand() *cobra.Command {
	g := a.callGroup("test-mode", "Manage the test mode of a company: its clock and its data", []call{
		{
			use: "enable", short: "Enable the test mode of a company, and show the company in test mode", method: authv1.TestModeService_EnableTestMode_FullMethodName,
		},
		{
			use: "clock", short: "Show the test clock", method: authv1.TestModeService_GetTestClock_FullMethodName,
		},
		{
			use: "advance TIME", short: "Move the test clock forward", method: authv1.TestModeService_AdvanceTestClock_FullMethodName,
			args: []string{"to"}, examples: []string{"2027-01-31T09:00:00Z"},
		},
		{
			use: "reset", short: "Delete all test data, and set the test clock back to the present", method: authv1.TestModeService_ResetTestData_FullMethodName,
			print: []string{"clock", "deleted"},
		},
	})
	g.PersistentPreRun = func(*cobra.Command, []string) { a.access.test = true }
	return g
}
