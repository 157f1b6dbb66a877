// Package bounds attacks a running platform with requests that are larger than
// their bounds. The requests are made from what is declared: the descriptors of
// every RPC, and the descriptions of both interfaces.
package bounds
