// Package roles has the one table of what an administrator may do: each capability with the scopes that it
// needs, and the roles that have it. The scopes of access tokens, the pages and the menu of the dashboard,
// docs/DASHBOARD.md and the tests follow from it.
//
// # Invariants
//
//  1. A role may do something exactly if the table gives it a capability for it. The services check the
//     scopes of the capability; the pages of the dashboard check the capability as well.
//  2. The scopes of a role are those of its capabilities, and no others.
//  3. An owner may do everything that a manager may do, and a manager everything that the front desk may do.
//  4. A teacher has only the scopes of their own account and of OwnClassService. Every RPC that accepts one of
//     them is confined to the staff member in the token, or to the account of the caller.
//  5. A manager keeps every scope that the role staff of earlier releases had.
package roles
