// Package site serves the documentation: the Markdown files of the repository as pages
// with navigation and search, and the API references of both interfaces and the webhooks.
//
// Pages are rendered and compressed once, when the process starts. A request writes the
// cached bytes, or 304 if the browser has them already.
//
// # Invariants
//
//  1. Every Markdown file of docs/ is a page, is in the navigation, and is found by search.
//  2. Every link to a page, a heading or a file of the site works. A link to a file
//     that only the repository has is shown as code.
//  3. A page loads everything from the server that it comes from, and needs neither inline
//     scripts nor inline styles. The references need inline styles (package reference).
//     Its scripts can make requests only below /docs/ of that server.
//  4. Every page can be read without JavaScript, except the references.
package site
