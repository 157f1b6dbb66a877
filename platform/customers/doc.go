// Package customers keeps a service from storing anything for a customer who does not exist or is deleted.
//
// A service that stores identifiers of customers looks a customer up in the customer service before it
// acts (Client). It then decides in the commit in which it acts, by its own table customers, which has the
// columns company_id, id and deleted_at and the primary key (company_id, id):
//
//	a write:    Require ──▶ RequirePresent: add the row, lock it for key share ──▶ commit
//	a deletion: Deleted ──▶ store deleted_at ──▶ commit ──▶ AwaitCommits: lock the row exclusively
//
// Storing deleted_at does not wait for the lock for key share and does not block it, but it waits for a
// write that is adding the row. From its commit on, every new write is refused, so AwaitCommits waits only
// for writes that began earlier. It holds no other lock, so there are no deadlocks.
//
// # Invariants
//
//  1. After ConfirmDeletion has returned, no transaction commits in which RequirePresent, Present or Lock
//     found the customer present.
//  2. Only the customer service decides that a customer is deleted. A caller of ConfirmDeletion names a
//     customer, and cannot delete one.
//  3. Rows of deleted customers are not locked for key share, so refused requests do not hold up a
//     confirmation.
package customers
