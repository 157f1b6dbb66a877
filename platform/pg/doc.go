// Package pg connects a service to its PostgreSQL database: a pool with cached prepared
// statements, reads in one round trip, transactions in the scope of a tenant, migrations,
// and the only translation of SQLSTATEs to faults.
//
// Every statement runs under a Scope, which names the company that the caller can see.
// The scope is the transaction-local setting app.company_id. The row level security
// policies that tenant_table() creates compare company_id with it. Queries still contain
// WHERE company_id = $1, because indexes need that condition. The policy is the safety
// net for a query without it.
//
// # Moves
//
// While a company moves to another installation (reservectl company move), the table company_moves names it. Its
// requests then fail with COMPANY_MOVING, and AllCompanies does not see it. The handlers of events still see it
// until it has left (package origin), because their effects move with it.
//
// # Costs
//
//   - Rows, One, Read, Stream: one round trip. The setting and the queries are one
//     pipeline, which PostgreSQL runs as one implicit transaction. The first use of a
//     statement on a connection adds a round trip to prepare it. The server treats the
//     transaction as read-only; use InTx to write.
//   - InTx: one round trip for the commit in addition to those of the statements. The
//     transaction begins, with the setting, in the round trip of its first statement, and
//     without a statement it takes none. Statements of Tx.Queue share the round trip of
//     the commit.
//   - PostgreSQL keeps the plan of a prepared statement unless a plan for the arguments of each
//     run seems cheaper, as it does for short arrays: see AmongIDs.
//   - A policy's functions are uncorrelated sub-selects, so they run once per query and
//     not once per row.
//   - PostgreSQL uses an index for a condition only if it can apply the condition before
//     the policy, which requires a leakproof operator. Comparisons of uuid, text,
//     integers, booleans and times qualify. LIKE, ILIKE, lower(), jsonb and trigram
//     operators do not: compare a stored column instead.
//
// # Invariants
//
//  1. A connection in the pool has no company. Its next user sees only the rows of its
//     own scope, even after an error, a panic or a cancellation.
//  2. Under For(company) a query reads and writes only that company's rows, even
//     without a WHERE clause. The zero Scope and the zero company see nothing.
//  3. The role of a service cannot alter tables or switch the policies off. CheckSchema
//     refuses a role that the policies do not apply to.
//  4. AfterCommit hooks run once, after the commit, and never otherwise.
//  5. InTx repeats a transaction that lost to a concurrent one (serialization failure or
//     deadlock) or to a migration, up to three times, and one whose connection was lost
//     before the server had answered. It never repeats a transaction that may have been
//     committed, and it returns ErrUncertain for a commit whose response it did not get.
//  6. Migrations are applied once and in order, even if several processes start them at
//     the same time.
//  7. A binary does not serve from a database whose schema is older than its own
//     migrations. A newer schema is fine.
//  8. A request holds a connection only in its company's turn (package turns), and waits for the
//     turn without one. A company whose requests wait, for a lock or for a reader, does not hold up
//     those of another company. Jobs, and requests whose company is not known yet, count as one
//     company. A request beyond the queue of its
//     company is refused with SERVICE_UNAVAILABLE, without a round trip.
package pg
