// Package harness runs the platform for tests: real binaries in separate processes, with a real
// PostgreSQL and a real NATS. Tests use it only through its public interfaces: Interface A,
// Interface B, the services' gRPC, and reservectl.
//
//	func TestMain(m *testing.M) { harness.Main(m) }
//
//	func TestBooking(t *testing.T) {
//		s := harness.StartStandalone(t, harness.StandaloneOptions{})   // one process
//		c := harness.StartCluster(t, harness.ClusterOptions{})         // one process per service
//		company := c.Operator(t).NewCompany(t, "Europe/London")
//		answer := c.A(t).Do(t, harness.Request{Path: "/customers", Token: …})
//		c.Part("booking").Kill(t)
//		…
//	}
//
// Run these tests with -count=1, because Go's test cache does not see changes to the programs.
//
// # Invariants
//
//  1. A test process builds a program at most once, and does not build it if an earlier test
//     process left it up to date.
//  2. Nothing waits for ever. Every start, stop and request has a limit. Exceeding it fails the
//     test and prints the log of the process that was too slow.
//  3. No process outlives the test that started it, or the test process, no matter how that ends
//     (on Linux, with the kernel's help).
//  4. A program that ends unexpectedly fails its test.
//  5. Test processes that run at the same time use different ports.
package harness
