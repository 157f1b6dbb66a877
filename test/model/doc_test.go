// Package model compares Interface B with a model: for random sequences of requests, a few
// hundred lines of Go predict each answer from the documentation alone, without a database or
// concurrency. The model predicts status codes, error codes, invalid fields, whole bodies, and
// the content of every list. TestInterfaceB sends requests of all kinds, valid and invalid. TestSales
// sells the spots of a few dates in all ways, moves, transfers and swaps registrations, and then compares
// everything, adds up all sums, and runs reservectl verify.
//
// A failure prints the shortest sequence that reproduces it. For a long run:
//
//	go test ./test/model -run 'TestInterfaceB|TestSales' -rapid.checks=300 -rapid.steps=80 -timeout 1h
//
// TestRush sends random requests from several callers at once. It predicts no answers, and checks that
// the sums agree afterwards. It prints its seed; -model.seed sends the same requests again.
package model

import (
	"testing"

	"reservation.dev/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
