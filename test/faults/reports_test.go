package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	reportsv1 "reservation.dev/proto/gen/reservation/reports/v1"
	"reservation.dev/test/harness"
)

const (
	// reportKills is how often the reports service is killed during sales, and as often during a build.
	reportKills = 4
	// reportsLimit is longer than the time after which NATS delivers the events again that a killed process had.
	reportsLimit = 2 * time.Minute
	// fewestOrders is the number of orders that a test of reports places at least.
	fewestOrders = 120
)

// TestReports builds reports again, and kills their service, while a company sells spaces and passes. It
// compares the reports with the databases of the services that own the data.
func TestReports(t *testing.T) {
	t.Parallel()
	m := newSalesCluster(t, harness.ClusterOptions{GatewaysB: 2})
	rebuilt, killed := m.newSeller(t, 8, 1200), m.newSeller(t, 8, 2500)
	t.Run("reports are built again while sales go on", func(t *testing.T) { m.testRebuilt(t, rebuilt) })
	t.Run("reports are killed during sales and builds", func(t *testing.T) { m.testReportsKilled(t, killed) })
}

// testRebuilt builds the reports several times during sales. Until a build ends, they answer without an error, and
// show no less than before.
func (m *salesCluster) testRebuilt(t *testing.T, s *seller) {
	m.sellDuring(t, s, func(answered <-chan struct{}) {
		await(t, answered, fewestOrders/4)
		done := make(chan struct{})
		var reading sync.WaitGroup
		reading.Go(func() { s.readReports(t, done) })
		for range 3 {
			await(t, answered, fewestOrders/4)
			s.reservectl(t, "report", "rebuild", "--wait")
		}
		await(t, answered, fewestOrders/4)
		close(done)
		reading.Wait()
	})
	s.settle(t, m.connect(t, "booking")) // credits can still be on their way back
	n := s.auditReports(t)
	for _, name := range []string{
		"takings payments", "takings refunds", "takings CASH paid", "attendance booked", "attendance cancelled", "attendance cancelled late",
		"credits used", "credits worth", "customers active",
	} {
		if n[name] == 0 {
			t.Errorf("the sales have no %s", name)
		}
	}
	s.reservectl(t, "verify")
}

// testReportsKilled kills the reports service during sales, and while it builds reports.
func (m *salesCluster) testReportsKilled(t *testing.T, s *seller) {
	client := reportsv1.NewReportMaintenanceServiceClient(m.Connect(t, m.Reports))
	reports := m.connect(t, "reports")
	building := 0
	m.sellDuring(t, s, func(answered <-chan struct{}) {
		for n := range 2 * reportKills {
			await(t, answered, fewestOrders/10)
			if n%2 == 1 {
				harness.Eventually(t, backLimit, func() error {
					_, err := client.RebuildReports(s.company.Ctx(t.Context()), &reportsv1.RebuildReportsRequest{})
					return err
				})
				<-time.After(time.Duration(rand.IntN(1200)) * time.Millisecond) // a build starts within a second
			}
			m.killGroup(t, []string{"reports"})
			// The build waits until the lease of the killed process ends.
			tag, err := reports.Exec(t.Context(), `update generations set lease_until = now() where company_id = $1 and state = 'building'`, companyID(t, s.company.ID))
			if err != nil {
				t.Error(err)
				return
			}
			building += int(tag.RowsAffected())
		}
	})
	t.Logf("%d kills, %d of them before the end of a build", 2*reportKills, building)
	s.settle(t, m.connect(t, "booking"))
	s.auditReports(t)
	s.reservectl(t, "verify")
}

// await waits for answers to orders.
func await(t *testing.T, answered <-chan struct{}, n int) {
	t.Helper()
	for range n {
		select {
		case <-answered:
		case <-time.After(orderLimit):
			t.Error("no more answers arrive")
			return
		}
	}
}

// sellDuring places orders while f runs. Customers also buy passes, and some delete their accounts.
func (m *salesCluster) sellDuring(t *testing.T, s *seller, f func(answered <-chan struct{})) {
	t.Helper()
	ctx := s.company.Ctx(t.Context())
	kind, err := m.op.Passes.CreatePassType(ctx, &passv1.CreatePassTypeRequest{
		Title: "A paid pass", TotalUses: 7, ValidityCount: 6, ValidityUnit: passv1.ValidityUnit_VALIDITY_UNIT_MONTH, Price: 9900,
	})
	if err != nil {
		t.Fatal(err)
	}
	clients, closing, answered := m.clients(t), make(chan struct{}), make(chan struct{}, 1000)
	var wg sync.WaitGroup
	var orders atomic.Int64
	for range shoppers {
		wg.Go(func() {
			for {
				select {
				case <-closing:
					return
				default:
				}
				o := s.newOrder()
				if o == nil {
					return
				}
				if err := m.buyFrom(t, s, o, clients); err != nil {
					t.Error(err)
					return
				}
				if err := m.sellPass(ctx, s, kind.GetPassType(), orders.Add(1)); err != nil {
					t.Error(err)
					return
				}
				select {
				case answered <- struct{}{}:
				default: // enough answers are counted
				}
				// The longer f waits for something else than orders, the slower they get, so that guests are left.
				select {
				case <-closing:
				case <-time.After(time.Duration(len(answered)) * time.Millisecond):
				}
			}
		})
	}
	f(answered)
	close(closing)
	wg.Wait()
	if n := orders.Load(); n < fewestOrders || int(n) == len(s.guests) {
		t.Errorf("%d orders were placed for %d guests: sales did not go on to the end", n, len(s.guests))
	}
	t.Logf("%d orders", orders.Load())
}

// sellPass sells a pass with every fifth order. With every tenth one, it cancels the pass, and deletes a new
// customer.
func (m *salesCluster) sellPass(ctx context.Context, s *seller, kind *passv1.PassType, n int64) error {
	if n%5 > 0 {
		return nil
	}
	method := []string{"CARD", "CASH"}[rand.IntN(2)]
	sold, err := m.op.Passes.AssignCustomerPass(ctx, &passv1.AssignCustomerPassRequest{
		CustomerId: s.buyers[rand.IntN(len(s.buyers))], PassTypeId: kind.GetId(), Purchase: &passv1.PassPurchase{Method: method, Gross: proto.Int64(9900 + n)},
	})
	if err != nil || n%10 > 0 {
		return err
	}
	_, err = m.op.Passes.UpdateCustomerPass(ctx, &passv1.UpdateCustomerPassRequest{
		Id: sold.GetCustomerPass().GetId(), Status: passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_CANCELLED,
	})
	if err != nil {
		return fmt.Errorf("cancelling a pass: %w", err)
	}
	made, err := m.op.Customers.CreateCustomer(ctx, &customerv1.CreateCustomerRequest{FirstName: "Zoë", LastName: "Short", Email: "zoe@example.com"})
	if err != nil {
		return err
	}
	_, err = m.op.Customers.DeleteCustomer(ctx, &customerv1.DeleteCustomerRequest{Id: made.GetCustomer().GetId()})
	return err
}

// readReports reads reports on Interface B until done is closed. The takings of a company that only sells do not
// become fewer.
func (s *seller) readReports(t *testing.T, done <-chan struct{}) {
	b := s.m.client(t, 0)
	last := 0
	for reads := 0; ; reads++ {
		select {
		case <-done:
			if reads < 10 {
				t.Errorf("reports were read %d times", reads)
			}
			return
		default:
		}
		for _, path := range []string{"/reports/takings", "/reports/attendance", "/reports/credits", "/reports/customers", "/reports/expiring-passes"} {
			var report struct {
				Complete bool
				Total    struct{ Payments int }
			}
			into := any(&report)
			if path == "/reports/expiring-passes" {
				into = nil // its total is a number
			}
			answer, err := b.Try(t.Context(), harness.Request{Path: path, Token: s.token})
			if err == nil {
				err = answer.Want(http.StatusOK, into)
			}
			if err != nil {
				t.Errorf("%s: %v", path, err)
				return
			}
			if into != nil && !report.Complete {
				t.Errorf("%s is not complete", path)
			}
			if path == "/reports/takings" {
				if report.Total.Payments < last {
					t.Errorf("the report has %d payments after %d", report.Total.Payments, last)
				}
				last = report.Total.Payments
			}
		}
	}
}

// reservectl runs a command for the company, which must succeed.
func (s *seller) reservectl(t *testing.T, args ...string) {
	t.Helper()
	credential := s.m.OperatorCredential
	issued, err := s.m.op.Tokens.IssueToken(t.Context(), &authv1.IssueTokenRequest{ClientId: credential.ID, ClientSecret: credential.Secret})
	if err != nil {
		t.Error(err)
		return
	}
	args = append(args, "--company", s.company.ID, "--booking", s.m.Booking, "--pass", s.m.Pass, "--subscription", s.m.Subscription, "--customer", s.m.Customer,
		"--media", s.m.Media, "--reports", s.m.Reports)
	result := harness.Run(t, harness.Command{Program: "reservectl", Args: args, Env: map[string]string{"RESERVATION_TOKEN": issued.GetAccessToken()}})
	if result.Code != 0 {
		t.Errorf("%s: exit status %d: %s%s", args[0], result.Code, result.Output, result.Errors)
	}
}
