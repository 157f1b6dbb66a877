package main

import (
	"testing"

	"reservation.dev/platform/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }
