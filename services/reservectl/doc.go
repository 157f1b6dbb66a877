// Package reservectl is the operator's command line: companies, API clients, API keys,
// administrators, webhook endpoints, imports of what a business brings along, and load
// data; and a receiver of webhooks for who writes one. It is a client of the
// services' gRPC like any other; it has no access of its own to a database.
//
//  1. Standard output is for programs: JSON, unless it is a terminal. Progress
//     and errors go to standard error.
//  2. A secret is printed once, where it is made, and nowhere else; a webhook's
//     also where it is asked for.
//  3. An import can be run again after any failure: what is stored is skipped by
//     its reference.
//  4. A report of refused lines has the format of the file, holds each line as it
//     stands with why, and can be corrected and imported itself.
//  5. Exit status 0: done; 1: failed; 2: wrong usage; 3: done, but lines were refused.
//  6. A stranger's text reaches a terminal without what a terminal obeys.
//
// A file has the commands of one resource. What they share is in resource.go (list,
// change, print), and credentials.go makes the commands of all three kinds of
// credentials. access.go opens sessions with the services, output.go prints, and
// import.go, records.go, csv.go, columns.go and report.go are the way of an import.
package reservectl
