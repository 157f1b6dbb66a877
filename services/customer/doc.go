// Package customer is the customer service. It owns a company's customers: their profile, whether
// they are archived, and their deletion.
//
//	create, import ──▶ live ◀──▶ archived
//	                     │           │
//	                     └── delete ─┴──▶ deleted: not found by any reader
//	   any of them ── erase ──▶ deleted, and nothing personal is left
//
// # Invariants
//
//  1. A change of a customer, its counters and its event are one commit. A change raises the version
//     by one; a request that changes nothing does none of this.
//  2. An update decides on the row that it has locked: concurrent updates run one after the other,
//     and a stale expected version changes nothing.
//  3. A company's totals are the numbers of its customers that are not deleted, and of those that
//     are archived. Unfiltered lists, and lists of only archived or only other customers, take their
//     total from them.
//  4. An export has every customer that exists from its beginning to its end, once, by id. It ends
//     with OK only if it is complete. Its memory does not grow, and it holds no database resources
//     while its reader pauses.
//  5. An import can be repeated: a customer whose reference is stored stays unchanged. A rejected
//     line stores nothing, and does not affect other lines.
//  6. A company sees and changes only its own customers: an identifier of another company is treated
//     like one that does not exist.
//  7. A list that is followed by its page tokens has every customer that exists throughout exactly
//     once, while others are added, changed and deleted. In the order of changes, a customer who
//     changes during the listing moves. In ascending order they appear again in the newer version; in
//     descending order they may be missed. The cost of a page does not depend on the company's size.
//  8. If a company requires unique e-mail addresses, no customer gets an address that another
//     customer has, regardless of case and of the number of concurrent writers. Existing duplicates
//     stay. The rule holds from the moment that the copy of the company has it.
//  9. The copy of a company never returns to an older version. A company that is used before its
//     event arrives is fetched from auth. While auth is unavailable, only the first write of such a
//     company fails.
//  10. An erasure overwrites all personal data of the customer in the commit that announces it; a
//     repeat finds it done. Its counters, events and version are those of a deletion.
//  11. An erasure begins its second round only after every other service has answered the first. It
//     is complete only after every service has answered the last round and the stream has no event
//     left that names the customer, except the events that report the end of the erasure. An
//     unavailable service delays the erasure and is never left out. A service that has not answered
//     within an hour gets the announcement again, because the first may have been lost.
//  12. An import does not restore an erased customer: the reference is rejected.
//  13. The search text of a customer always follows from the stored name, address and number,
//     regardless of which release wrote them. A search finds only customers of its own company, and
//     its pages follow invariant 7 within each tier. It never reads the whole table.
//  14. A deletion is answered only after booking, pass, subscription and media have confirmed that none
//     of their replicas serves the customer. Until then it is marked as unconfirmed, also across crashes, and a repeat
//     continues it. Of all requests that delete a customer, one is answered OK and later ones
//     NOT_FOUND. An erasure is answered only after the same confirmation. The replay of a stored
//     response follows the same rule.
//  15. A customer has at most 1000 notes, regardless of concurrent writers. The notes of a deleted
//     customer are not found by any reader, and an erased customer has none, regardless of the
//     release that erases. Notes are in no event.
//  16. For a company in test mode, the times of creations and changes are those of its test clock.
//     Domain events and erasures have the real time.
//  17. A customer has no e-mail address, which is then the empty text, only if the company allowed it in the
//     commit that created the customer or removed the address. A customer without an address can stay without
//     one, and can be changed, after the company no longer allows it. Invariant 8 does not apply to them.
package customer
