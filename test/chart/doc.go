// Package chart tests deploy/helm/reservation. The rendered objects must be valid for the
// Kubernetes API, without unknown fields, and meet the platform's needs. With -cluster, the tests
// also install the chart on a real API server.
package chart
