// Package reservectl is the operator's command line: companies, API clients, API keys, administrators,
// imports of what a business brings along, and load data. It is a client of the
// services' gRPC like any other; it has no access of its own to a database.
//
//  1. Standard output is for programs: JSON, unless it is a terminal. Progress
//     and errors go to standard error.
//  2. A secret is printed once, where it is made, and nowhere else.
//  3. An import can be run again after any failure: what is stored is skipped by
//     its reference.
//  4. A report of refused lines has the format of the file, holds each line as it
//     stands with why, and can be corrected and imported itself.
//  5. Exit status 0: done; 1: failed; 2: wrong usage; 3: done, but lines were refused.
package reservectl
