// Package day sends the requests of a whole day in an hour. The tables that should only hold what is
// recent must stay as small as they are, requests must not get more expensive, the jobs must delete
// as much as expires, and backups must not slow down sales.
//
// Before the hour, the test adds rows of a day that is over, as many as the hour will add. They
// expire during the hour, evenly. So if everything works, the tables are as large afterwards as
// before.
//
// The test runs if DAY_TEST is set, as make day-test does, and prints its measurements as tables. It
// needs PostgreSQL's extensions pg_stat_statements and pgstattuple.
package day

import (
	"os"
	"strconv"
	"testing"
	"time"

	"reservation.dev/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// plan is how much the test does.
type plan struct {
	// length is how long the day takes, without the warm-up.
	length time.Duration
	// bookings is the number of bookings of the day, including those that are cancelled later and
	// holds that expire.
	bookings int
}

// newPlan returns the plan of the environment. It skips t unless DAY_TEST is set.
func newPlan(t *testing.T) plan {
	t.Helper()
	if os.Getenv("DAY_TEST") == "" {
		t.Skip("sends requests for an hour: make day-test")
	}
	number := func(name string, fallback int) int {
		text := os.Getenv(name)
		if text == "" {
			return fallback
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			t.Fatalf("%s must be a positive number, not %q", name, text)
		}
		return n
	}
	minutes := number("DAY_MINUTES", 60)
	return plan{length: time.Duration(minutes) * time.Minute, bookings: number("DAY_BOOKINGS", 100_000)}
}

// warmUp is how long the test counts the rows that the traffic adds.
func (p plan) warmUp() time.Duration { return p.length / 12 }

// period is how long a period of the day takes. The costs of the periods are compared.
func (p plan) period() time.Duration { return p.length / periodCount }

// periodCount is the number of periods of the day.
const periodCount = 6
