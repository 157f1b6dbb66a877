// Package openapi holds the OpenAPI description of the webhooks, which the documentation
// site serves.
package openapi

import _ "embed"

// Description is openapi.yaml.
//
//go:embed openapi.yaml
var Description []byte
