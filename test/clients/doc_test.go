// Package clients uses Interfaces A and B of a running platform as integrators do: through clients that
// are generated from the OpenAPI descriptions, by openapi-typescript and by oapi-codegen. A scenario
// calls every operation. The compilers check that its requests fit the generated types, and a proxy
// checks every response against the description.
package clients
