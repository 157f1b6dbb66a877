// Package testkit gives tests what a service has in production: a PostgreSQL database with the
// service's schema and application role, and a connection to the bus. Only tests import it.
//
//	func TestMain(m *testing.M) { testkit.Main(m) }
//
//	func TestBooking(t *testing.T) {
//		db := testkit.DB(t, pg.Migrations{Part: "booking", FS: migrations.FS})
//		b := testkit.Bus(t)
//		…
//
// The tests of a process share one private PostgreSQL server, which starts on first use.
// TEST_DATABASE_URL (a superuser's URL) names another server to use instead. The migrations of a
// service run once per process, in a template database. Each test gets a clone of it, so tests can
// run in parallel and do not have to clean up.
//
// The tests of a process also share one NATS server, on which Bus gives each test its own prefix.
// BusConfig and NATSURL are for tests that run processes. NewNATSServer starts another server, for a
// test that stops and starts it.
package testkit
