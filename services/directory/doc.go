// Package directory tells HAProxy, the router in front of several installations (cells), where each company is.
// No request passes through this program. It runs next to each HAProxy, asks the auth service of each cell for
// companies and credentials, and keeps two maps:
//
//	credentials.map   identifier of a credential ──▶ company
//	companies.map     company, in four spellings ──▶ cell; "ready" ──▶ "yes"
//
// HAProxy reads the files when it starts. While it runs, it gets each change over its runtime API.
//
//	auth of cell west ──follower──┐                      ┌──▶ map files, replaced atomically
//	auth of cell east ──follower──┴──▶ table ──publisher─┴──▶ HAProxy's socket
//
// # Invariants
//
//  1. A company is routed to the cell that has it open. While it leaves a cell, it is routed there. It is routed to
//     another cell when its cell says that it has left, and the other one has it open.
//  2. If a second cell has a company open, the company stays where it is, the program logs an error, and
//     directory_conflicts is not 0.
//  3. A cell that does not answer changes nothing about its companies, and delays nothing about those of others.
//  4. If the program does not run, or cannot read any cell, HAProxy continues with what it knows. A program that has
//     lost its files begins with the maps that HAProxy has in memory.
//  5. The maps contain every change that HAProxy accepted, in the order of the changes. After an error, and after
//     HAProxy has started, both maps are replaced as a whole, atomically.
//  6. A cell is believed about a credential only if it has the company of the credential, or has it open according to
//     its last answer. A credential never goes from a company of one cell to a company of another cell:
//     it stays, the program logs an error, and directory_conflicts is not 0.
package directory
