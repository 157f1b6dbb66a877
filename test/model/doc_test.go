// Package model compares Interface B with a model: for random sequences of requests, a few
// hundred lines of Go predict each answer from the documentation alone, without a database or
// concurrency. The model predicts status codes, error codes, invalid fields, whole bodies, and
// the content of every list.
//
// A failure prints the shortest sequence that reproduces it. For a long run:
//
//	go test ./test/model -run TestInterfaceB -rapid.checks=300 -rapid.steps=80 -timeout 1h
package model

import (
	"testing"

	"reservation.dev/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
