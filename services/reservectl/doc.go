// Package reservectl is the operator's command-line program. It manages companies, credentials,
// administrators and webhook endpoints, imports and erases data, uploads files, checks the stored
// numbers, and receives webhooks for developers of receivers. It calls the services' gRPC like any
// other client and has no access to a database.
//
//  1. Standard output is for programs: JSON, unless it is a terminal; the command token prints the
//     bare token. Progress and errors go to standard error.
//  2. A secret is printed once, by the command that creates it. A webhook's secret can also be
//     printed later.
//  3. An import can be repeated after any failure: items that are already stored are skipped by
//     their reference, and plans by their title. The file of a media item is uploaded only if its
//     checksum is different, and an interrupted upload continues.
//  4. A report of refused lines has the format of the imported file. It holds each line unchanged,
//     with the reason, and can be corrected and imported like any other file.
//  5. Exit status 0: done; 1: failed; 2: wrong usage; 3: done, but lines were refused.
//  6. Text from outside the platform reaches a terminal without control characters.
//  7. With --test, every call is for a company in test mode, except the one that enables the test mode.
//
// Most commands make one RPC each. calls_*.go have them as tables: call.go builds a command from an
// entry, request.go and field_flag.go turn the fields of the request into flags, listing.go prints
// lists page by page, and field_text.go has the help of the fields. A new field in a proto becomes a
// flag by itself, and needs a text there.
//
// The commands of companies, credentials, administrators and webhooks are written by hand, in a file
// for each resource. resource.go has the code that they share (list, change, print), and
// credentials.go builds the commands of all three kinds of credentials.
// access.go opens sessions with the services, rest.go calls Interfaces A and B, and output.go
// prints. import.go, records.go, csv.go, columns.go, line_fields.go and report.go implement imports.
package reservectl
