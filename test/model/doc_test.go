// Package model holds Interface B to a model of it: random sequences of requests,
// each of whose answers a few hundred lines of Go predict from the documentation
// alone, without a database and without concurrency. It predicts status codes,
// error codes, the fields at fault, whole bodies, and what every list holds.
//
// A failure prints the shortest sequence that shows it. For a long run:
//
//	go test ./test/model -run TestInterfaceB -rapid.checks=300 -rapid.steps=80 -timeout 1h
package model

import (
	"testing"

	"reservation.dev/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
