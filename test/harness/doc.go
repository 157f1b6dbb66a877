// Package harness runs the platform for tests: the real binaries, as real
// processes, against a real PostgreSQL and a real NATS. Tests meet it only where
// its users do: on Interface A, on the services' gRPC, and through reservectl.
//
//	func TestMain(m *testing.M) { harness.Main(m) }
//
//	func TestBooking(t *testing.T) {
//		s := harness.StartStandalone(t, harness.StandaloneOptions{})   // one process
//		c := harness.StartCluster(t, harness.ClusterOptions{})         // a process per part
//		company := c.Operator(t).NewCompany(t, "Europe/London")
//		answer := c.A(t).Do(t, harness.Request{Path: "/customers", Token: …})
//		c.Part("booking").Kill(t)
//		…
//	}
//
// Go's cache of test results does not see the programs, so these tests run with
// -count=1.
//
// # Invariants
//
//  1. A program is built at most once by a test process, and not at all where
//     an earlier one left it up to date.
//  2. Nothing waits for ever: every start, stop and request has a limit, and the
//     one that is passed fails the test with the log of whoever was waited for.
//  3. No process outlives the test that started it, nor the test process,
//     however that ends (on Linux, where the kernel helps).
//  4. A program that ends without being asked to fails its test.
//  5. Test processes that run at the same time take different ports.
package harness
