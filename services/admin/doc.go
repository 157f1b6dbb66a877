// Package admin is the dashboard: the web pages with which the people of a company run their
// business. It renders HTML on the server and stores no data. The auth service owns sessions,
// administrators and the audit log; the other services own everything else.
//
//	browser ──form──▶ Host ▶ headers ▶ same origin ▶ session (auth) ▶ CSRF token ▶ role ▶ page
//	                                                      │                              │
//	                                                      └── access token of the ───────┴──gRPC──▶ services
//	                                                          administrator
//
// A page is a method of request. It calls the services with the administrator's own token, and
// renders a template or redirects. A refusal of a service becomes a sentence on the form, never
// a blank page.
//
// # Invariants
//
//  1. Every call for tenant data carries the access token of the signed-in administrator and
//     nothing else. The services decide what a company can see. The identifier of another
//     company's data leads to “page not found”.
//  2. A GET changes nothing. Every change is a POST from a page of this site (origin) in this
//     session (token).
//  3. Each session starts with a new identifier. It is in a cookie that scripts cannot read and
//     that, if the dashboard is served over TLS, is sent over TLS only.
//  4. Text that people typed is never markup, and nothing inline is executed: the content
//     security policy allows only scripts and styles of this site. The API reference below
//     /docs also allows inline styles. Only pages of the library load images, videos and
//     recordings from MEDIA_URL, and send files to it. Only the page that scans tickets can use the camera.
//  5. A secret is in one response only, which no cache stores.
//  6. Every redirect leads to a path of this site.
//  7. Requests for another host name than the dashboard's are refused.
//  8. The number of calls for a page does not depend on the number of rows it shows. The agenda of a day
//     makes one call for each person that it shows, all at once, and shows at most 12. The roster of a
//     date is read in at most 3 calls. The page of a sale makes two calls for each of its lines, of which
//     there are at most 10.
//  9. Every change made in another service is in the audit log before the response. The route
//     declares the entry.
//  10. In test mode, every page says so, and its calls carry an access token for the company in test
//     mode. Only routes that are alwaysLive use live data then.
//  11. A form that was opened in one mode changes nothing in the other: its CSRF token is of the mode.
//  12. Every route names a capability of platform/roles, and is open to exactly the roles that have it. A page
//     leads only to pages and forms that its reader can open. The services check the scopes of the role too, so
//     no hidden link protects anything.
package admin
