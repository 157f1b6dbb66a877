// Package move takes a company from one installation (cell) to another while it is used. docs/COMPANY_MOVE.md
// describes it for operators, and docs/adr/0029-a-company-moves-by-replication.md why it is as it is.
//
// PostgreSQL's logical replication copies the rows and follows their changes, while the company uses the
// source. Then the source refuses its requests for seconds (package pg, Moves), until everything that the requests
// have caused is in the target. Both sides are compared, and the target opens.
//
//	state                       mark at the source    mark at the target
//	not begun, or aborted       –                     –
//	copying                     –                     arriving
//	frozen                      leaving               arriving
//	switched                    left                  –
//
// # Invariants
//
//  1. At most one cell answers the company's requests. The target opens after the decision, which is the mark
//     "left" in the source's database of auth, and the source never opens after it.
//  2. The decision is made only if every row of the company is the same on both sides, no event of the company
//     waits in an outbox, and every consumer has handled every event of the company.
//  3. Each step can be repeated. The state follows from the marks and from what exists on both sides, so a command
//     that was killed is continued by the next one.
//  4. Until the decision, Abort restores the state before the move, including the mark "left" of an earlier stay at
//     the target.
//  5. The company's test company moves with it.
//  6. No cell accepts a token of a credential that was revoked in another cell.
//  7. A file is removed only in a bucket that the other cell does not have.
package move
