// Package admin is the dashboard: the pages with which a business's own people
// run it. It renders HTML on the server and has no data: sessions, administrators
// and the audit log are auth's, everything else is the other services'.
//
//	browser ──form──▶ Host ▶ headers ▶ same origin ▶ session (auth) ▶ CSRF token ▶ role ▶ page
//	                                                      │                              │
//	                                                      └── access token of the ───────┴──gRPC──▶ services
//	                                                          administrator
//
// A page is a method of request: it asks the services what it needs, under the
// administrator's own token, and renders a template or redirects. What a service
// refuses becomes a sentence beside the form, never a blank page.
//
// # Invariants
//
//  1. Every call for tenant data carries the access token of the administrator
//     who asks, and nothing else: what a company may see is decided below, and an
//     identifier of another company is a page that does not exist.
//  2. Nothing changes by a GET. Everything that changes something comes from a
//     page of this site (origin), in this session (token), by POST.
//  3. A session begins under a new identifier, which is in a cookie that no script
//     reads and that is sent over TLS only, where the dashboard is served over it.
//  4. Nothing that a person typed is markup, and nothing inline is executed: the
//     policy allows scripts and styles of this site alone.
//  5. A secret is in one answer only, which no cache keeps.
//  6. A redirection leads to a path of this site.
//  7. A request for another host name than the dashboard's is not answered.
//  8. A page makes a number of calls that does not depend on the rows it shows.
//  9. Every change made in another service is recorded in the audit log, before it is
//     answered. The route declares the entry.
package admin
