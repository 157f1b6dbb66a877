package webhook

import (
	"io"
	"log"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/config"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/testkit"
)

func pgSecret(url string) config.Secret { return config.Secret(url) }

func quietLog() *log.Logger { return log.New(io.Discard, "", 0) }

func waitFor(t testing.TB, cond func() error) {
	t.Helper()
	testkit.Eventually(t, 20*time.Second, cond)
}

func timestamp(t time.Time) *timestamppb.Timestamp { return timestamppb.New(t) }

func wantReason(t testing.TB, err error, reason string) {
	t.Helper()
	if err == nil || fault.From(err).Reason != reason {
		t.Errorf("got %v, want %s", err, reason)
	}
}
