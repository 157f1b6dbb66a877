// Package testkit gives tests what production gives a part: a PostgreSQL
// database with the part's schema and its application role, and a connection to
// the bus. It is imported by tests only.
//
//	func TestMain(m *testing.M) { testkit.Main(m) }
//
//	func TestBooking(t *testing.T) {
//		db := testkit.DB(t, pg.Migrations{Part: "booking", FS: migrations.FS})
//		b := testkit.Bus(t)
//		…
//
// One private server serves a test process; it is found and started on first
// use, or TEST_DATABASE_URL names one (a superuser's URL). A part's migrations
// run once per process into a template, and each test gets a clone of that, so
// tests may run in parallel and need not clean up.
//
// One NATS server serves a test process, too. Bus gives each test a prefix of
// its own on it; BusConfig and NATSURL are for tests that run processes.
// NewNATSServer starts another server, for a test that stops and starts it.
package testkit
