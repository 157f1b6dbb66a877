// Package openapi holds the OpenAPI description of Interface B, so that the
// gateway and the documentation site serve the same file.
package openapi

import _ "embed"

// Description is openapi.yaml.
//
//go:embed openapi.yaml
var Description []byte
