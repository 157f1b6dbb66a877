package grpc

import (
	"bufio"
	"log/slog"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/bus"
	"reservation.dev/platform/id"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	"reservation.dev/test/harness"
)

// eventLimit is the time limit for the delivery of an event.
const eventLimit = time.Minute

func TestTheProgramThatFollowsEvents(t *testing.T) {
	nats := harness.StartNATS(t, t.TempDir())
	b, err := bus.Connect(t.Context(), bus.Config{URL: nats.URL()}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := b.EnsureStreams(t.Context()); err != nil {
		t.Fatal(err)
	}
	lines := follow(t, nats.URL())
	company := id.New[id.Company]()
	publish(t, b, company, "customer.v1.customer_archived_by_a_later_release", nil)
	publish(t, b, company, "customer.v1.customer_created", &customerv1.CustomerCreated{
		Customer: &customerv1.CustomerSnapshot{Email: "zoe@example.com"},
	})
	select {
	case line := <-lines:
		for _, want := range []string{"customer_created ", company.String(), "zoe@example.com"} {
			if !strings.Contains(line, want) {
				t.Errorf("first line %q, want it to contain %q", line, want)
			}
		}
	case <-time.After(eventLimit):
		t.Fatal("no event was printed")
	}
}

func publish(t *testing.T, b *bus.Bus, company id.Company, subject string, event proto.Message) {
	t.Helper()
	payload, err := proto.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.Publish(t.Context(), []bus.Message{{ID: id.NewUUID(), Company: company, Subject: subject, Payload: payload, OccurredAt: time.Now()}})
	if err != nil {
		t.Fatal(err)
	}
}

// follow runs the program and returns the lines that it prints.
func follow(t *testing.T, url string) <-chan string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "follow")
	if out, err := exec.Command("go", "build", "-o", path, "./follow").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command(path)
	cmd.Env = []string{"NATS_URL=" + url}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := make(chan string, 16)
	go func() {
		for scanner := bufio.NewScanner(out); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	return lines
}
