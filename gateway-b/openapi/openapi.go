// Package openapi embeds the OpenAPI description of Interface B, so that the gateway and the
// documentation site serve the same file.
package openapi

import _ "embed"

// Description is the content of openapi.yaml.
//
//go:embed openapi.yaml
var Description []byte
