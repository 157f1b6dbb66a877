// Package customer is the customer service: a company's customers, their
// profile, whether they are archived, and their deletion.
//
//	create, import ──▶ live ◀──▶ archived
//	                     │           │
//	                     └── delete ─┴──▶ deleted: gone for every reader
//	   any of them ── erase ──▶ deleted, and nothing personal is left
//
// # Invariants
//
//  1. A change of a customer, its count and its event are one commit; a change
//     raises the version by one, and what changes nothing does none of this.
//  2. An update decides on the row that it locked: concurrent updates are one
//     after the other, and a stale expected version changes nothing.
//  3. The totals of a company are the numbers of its customers that are not
//     deleted, and of those of them that are archived. A list of all, or of
//     either kind, has its total from them.
//  4. An export has every customer who is there from its beginning to its end,
//     once, by id. It ends well only when it is complete, its memory does not
//     grow, and while its reader rests it holds nothing of the database.
//  5. An import can be repeated: a reference that is stored stays as it is, a
//     refused line stores nothing, and the lines beside it are stored.
//  6. A company sees and changes its own customers only: an identifier of another
//     company is answered like one that does not exist.
//  7. A list followed by its tokens has everyone who is there throughout once,
//     while others come, change and go. In the order of changes a customer who
//     changes moves: forwards, and is met again in the newer version; backwards,
//     and may be met no more. A page costs the same at any size of the company.
//  8. In a company that asks for unique e-mail addresses nobody gets one that
//     another customer has, in whatever case and from however many writers at
//     once. What was double before stays. It holds from the moment that the copy
//     of the company says so.
//  9. The copy of a company never goes back to an older version. A company that
//     is met before its event is fetched from auth; auth being away stops only
//     the first write of such a company.
//  10. An erasure overwrites everything personal of the customer in the commit that
//     announces it; a repeat finds it done. Its count, its events and its version
//     are those of a deletion.
//  11. An erasure begins its second round only after every other service has answered
//     the first, and is complete only after every one has answered the last and no
//     event that names the customer is left in the stream, but those that tell of
//     the end. A service that is away holds it up, and is never left out; one that
//     has not answered within an hour is asked again, for what it was told may be lost.
//  12. An import does not bring an erased customer back: the reference is refused.
//  13. The search text of a customer follows from the stored name, address and number,
//     regardless of which release wrote them. A search finds customers of its own company only, and its pages
//     follow invariant 7 within each tier. It never reads the whole table.
//  14. A deletion is answered only after booking and pass have confirmed that none of
//     their replicas serves the customer. Until then it is marked, also across
//     crashes, and a repeat goes on with it; of all requests that delete a customer
//     one is answered OK, and those after it NOT_FOUND. An erasure is answered only
//     after the same confirmation. A replayed answer is no exception.
package customer
