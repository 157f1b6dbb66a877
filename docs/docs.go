// Package docs embeds the documentation, so that the platform can serve it as a site. The
// files are those of this folder; package site renders them.
package docs

import "embed"

// Files has the pages (Markdown), their pictures, and what they link to: the schemas,
// vectors and example receivers of webhooks.
//
//go:embed *.md adr/*.md runbooks/*.md pictures examples webhooks/*.json webhooks/examples
var Files embed.FS
