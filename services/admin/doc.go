// Package admin is the dashboard: web pages with which the people of a company run their
// business. It renders HTML on the server and stores no data. The auth service owns
// administrators, sessions and the audit log; the other services own everything else.
//
//	browser ──form──▶ Host ▶ headers ▶ same origin ▶ session (auth) ▶ CSRF token ▶ role ▶ page
//	                                                      │                              │
//	                                                      └── access token of the ───────┴──gRPC──▶ services
//	                                                          administrator
//
// A page is a method of request. It calls the services with the administrator's own access
// token, and renders a template or redirects. A refusal of a service becomes a sentence next to
// the form, never an empty page.
//
// # Invariants
//
//  1. Every call for a company's data carries the access token of the signed-in administrator
//     and no other credential. The services decide what the company can see; an identifier of
//     another company is a page that does not exist.
//  2. A GET changes nothing. Every change is a POST from a page of this site (origin) in this
//     session (token).
//  3. A sign-in begins a session with a new identifier. The identifier is in a cookie that no
//     script can read, and that is sent over TLS only if the dashboard is served over TLS.
//  4. Text that a person typed is never markup. Nothing inline is executed: the content security
//     policy allows only scripts and styles of this site.
//  5. A secret is in one response only, which no cache stores.
//  6. A redirection leads to a path of this site.
//  7. The dashboard does not serve requests for another host name than its own.
//  8. The number of calls that a page makes does not depend on the number of rows it shows.
//  9. Every change in another service is recorded in the audit log before the response. The
//     route declares the entry.
package admin
