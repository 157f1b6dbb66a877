// Package bounds attacks a running platform with requests that exceed its bounds. The requests
// are derived from the declarations: the descriptors of every RPC, and the OpenAPI descriptions
// of both interfaces.
package bounds
