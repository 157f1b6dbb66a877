// Package chart has the tests of deploy/helm/reservation: what it renders is what
// the Kubernetes API takes, strictly, and is what the platform needs; and, with
// -cluster, it is installed on a real API server.
package chart
