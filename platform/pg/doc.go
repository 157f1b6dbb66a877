// Package pg connects a service to its PostgreSQL database: a pool with cached prepared
// statements, reads in one round trip, transactions that know their tenant, migrations,
// and the one place where SQLSTATEs become faults.
//
// Every statement runs under a Scope, which is the company that the caller may
// see. It travels as the transaction-local setting app.company_id, and the row
// level security policies that tenant_table() creates compare company_id with
// it. Queries still say WHERE company_id = $1, because that is what indexes
// serve; the policy is the net below, for the query that forgot.
//
// # Costs
//
//   - Rows, One, Read, Stream: one round trip. The setting and the queries
//     are one pipeline, which PostgreSQL runs as one implicit transaction. The
//     first use of a statement on a connection adds one for preparing it.
//     Reads are read-only to the server too; a statement that writes goes to InTx.
//   - InTx: one round trip to begin with the setting, one to commit.
//   - A policy's functions are uncorrelated sub-selects, so they run once per
//     query and not once per row.
//   - PostgreSQL applies a condition before the policy, and so by an index,
//     only if its operator cannot leak what it sees. Comparisons of uuid, text,
//     integers, booleans and times qualify; LIKE, ILIKE, lower(), jsonb and
//     trigram operators do not: compare a stored column instead.
//
// # Invariants
//
//  1. A connection that goes back to the pool carries no company: the next user
//     sees only what its own scope allows, whatever happened before, errors,
//     panics and cancellations included.
//  2. Under For(company) a query sees and writes that company's rows only, even
//     without a WHERE clause. The zero Scope and the zero company see nothing.
//  3. The role a service runs as can neither alter tables nor switch the
//     policies off, and CheckSchema refuses a role for which they do not count.
//  4. AfterCommit hooks run once, after the commit, and never otherwise.
//  5. InTx repeats a transaction that lost to a concurrent one (serialization
//     failure or deadlock) or to a migration, up to three times, and nothing that
//     may have had an effect.
//  6. Migrations are applied once, in order, whatever the number of processes
//     that start them at the same time.
//  7. A binary does not serve from a database whose schema is older than the one
//     it was built for; a newer schema is fine.
package pg
