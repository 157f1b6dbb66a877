package webhooks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"reservation.dev/platform/webhookevent"
	"reservation.dev/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// waiting is how long a test waits for a program, also on a loaded machine.
const waiting = time.Minute

// operator runs reservectl against an instance.
type operator struct{ s *harness.Standalone }

func (o operator) env() map[string]string {
	return map[string]string{"RESERVATION_CREDENTIALS": o.s.CredentialsFile()}
}

func (o operator) run(t *testing.T, args ...string) harness.Result {
	t.Helper()
	return harness.Run(t, harness.Command{Program: "reservectl", Args: args, Env: o.env()})
}

// into runs a command that must succeed and decodes its output into v.
func (o operator) into(t *testing.T, v any, args ...string) {
	t.Helper()
	out := o.run(t, args...).Succeeded(t)
	if err := json.Unmarshal([]byte(out), v); err != nil {
		t.Fatalf("%v: %v in %s", args, err, out)
	}
}

// The JSON that reservectl prints.
type (
	endpoint struct {
		Name string `json:"endpoint"`
	}
	secret struct {
		Secret string `json:"secret"`
	}
	tried struct {
		Delivery string `json:"delivery"`
		Status   int    `json:"status"`
		Failure  string `json:"failure"`
		Message  string `json:"message"`
	}
	delivery struct {
		State    string `json:"state"`
		Attempts int    `json:"attempts"`
	}
	receipt struct {
		Event    string `json:"event"`
		ID       string `json:"id"`
		Repeat   int    `json:"repeat"`
		Verified bool   `json:"verified"`
		Answer   int    `json:"answer"`
	}
)

// background is a program that runs until stop.
type background struct {
	cmd  *exec.Cmd
	mu   sync.Mutex
	out  bytes.Buffer
	done chan error
}

// Write implements io.Writer.
func (b *background) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.out.Write(p)
}

func (b *background) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.out.String()
}

// start runs a program with the environment of the test and env.
func start(t *testing.T, dir string, env map[string]string, args ...string) *background {
	t.Helper()
	b := &background{cmd: exec.Command(args[0], args[1:]...), done: make(chan error, 1)}
	b.cmd.Dir, b.cmd.Stdout, b.cmd.Env = dir, b, os.Environ()
	for name, value := range env {
		b.cmd.Env = append(b.cmd.Env, name+"="+value)
	}
	var errOut bytes.Buffer
	b.cmd.Stderr = &errOut
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { b.done <- b.cmd.Wait() }()
	t.Cleanup(func() {
		_ = b.cmd.Process.Kill() // fails if it has ended
		select {
		case <-b.done:
		case <-time.After(waiting):
			t.Errorf("%v did not end", args)
		}
		if t.Failed() {
			t.Logf("%v: %s%s", args, b.text(), errOut.Bytes())
		}
	})
	return b
}

// interrupt sends SIGINT, as Ctrl-C does, and fails t unless the program ends without an error.
func (b *background) interrupt(t *testing.T) {
	t.Helper()
	if err := b.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-b.done:
		b.done <- err
		if err != nil {
			t.Errorf("the program ended with %v", err)
		}
	case <-time.After(waiting):
		t.Error("the program did not end")
	}
}

// receipts returns the receipts that listen has printed so far.
func (b *background) receipts(t *testing.T) []receipt {
	t.Helper()
	var all []receipt
	for line := range strings.Lines(b.text()) {
		var r receipt
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		all = append(all, r)
	}
	return all
}

// listen starts reservectl listen and waits until its endpoint is registered.
func (o operator) listen(t *testing.T, args ...string) (*background, endpoint) {
	t.Helper()
	b := start(t, t.TempDir(), o.env(), append([]string{harness.Program(t, "reservectl"), "listen"}, args...)...)
	var all []endpoint
	harness.Eventually(t, waiting, func() error {
		if o.into(t, &all, "webhook", "list"); len(all) != 1 {
			return fmt.Errorf("%d endpoints", len(all))
		}
		return nil
	})
	return b, all[0]
}

func (o operator) gone(t *testing.T) {
	t.Helper()
	var all []endpoint
	if o.into(t, &all, "webhook", "list"); len(all) != 0 {
		t.Errorf("%d endpoints are left", len(all))
	}
}

// TestLive runs the commands of a newcomer, and sends real requests to the example receivers.
func TestLive(t *testing.T) {
	o := operator{harness.StartStandalone(t, harness.StandaloneOptions{Env: map[string]string{"DEMO": "on", "WEBHOOK_RETRIES": "50ms,50ms,50ms"}})}
	t.Run("the demonstration receives all notifications, and leaves no endpoint", func(t *testing.T) {
		for range 2 {
			out := o.run(t, "demo", "--limit", waiting.String()).Succeeded(t)
			if strings.Count(out, "JWT verified  Standard Webhooks verified") != 4 || !strings.Contains(out, "all 4 notifications have arrived") {
				t.Errorf("got %s", out)
			}
		}
		o.gone(t)
	})
	t.Run("the demonstration reports missing notifications", func(t *testing.T) {
		r := o.run(t, "demo", "--limit", "1ms")
		if r.Code != 1 || !strings.Contains(r.Errors, "the time limit (--limit) was exceeded") {
			t.Errorf("exit status %d: %s", r.Code, r.Errors)
		}
		o.gone(t)
	})
	t.Run("listen verifies requests before and during a secret rotation, and deletes its endpoint", func(t *testing.T) {
		b, e := o.listen(t, "--events", "pass.purchased")
		var secrets []secret
		for i := range 2 {
			var got tried
			if o.into(t, &got, "webhook", "test", e.Name, "--event", "pass.purchased"); got.Status != http.StatusOK {
				t.Errorf("got %+v", got)
			}
			if o.into(t, &secrets, "webhook", "rotate", e.Name, "--force"); len(secrets) != 2 {
				t.Errorf("%d secrets after rotation %d", len(secrets), i)
			}
		}
		b.interrupt(t)
		all := b.receipts(t)
		if len(all) != 2 || !all[0].Verified || !all[1].Verified || all[0].Event != "pass.purchased" {
			t.Errorf("got %+v", all)
		}
		o.gone(t)
	})
	t.Run("a delivery answered with 500 is retried with the same id, then fails", func(t *testing.T) {
		b, e := o.listen(t, "--answer", "500")
		var got tried
		r := o.run(t, "webhook", "test", e.Name)
		if err := json.Unmarshal([]byte(r.Output), &got); err != nil || r.Code != 1 || got.Status != http.StatusInternalServerError || got.Failure != "status" {
			t.Errorf("exit status %d: %s", r.Code, r.Output)
		}
		o.run(t, "webhook", "replay", got.Delivery).Succeeded(t)
		harness.Eventually(t, waiting, func() error {
			var d delivery
			if o.into(t, &d, "webhook", "delivery", got.Delivery); d.State != "failed" || d.Attempts != 5 {
				return fmt.Errorf("the delivery is %+v", d)
			}
			return nil
		})
		b.interrupt(t)
		all := b.receipts(t)
		for i, r := range all {
			if r.ID != all[0].ID || r.Repeat != i || !r.Verified || r.Answer != http.StatusInternalServerError {
				t.Errorf("receipt %d is %+v", i, r)
			}
		}
		if len(all) != 5 {
			t.Errorf("%d arrived, want a test and four attempts of its replay", len(all))
		}
	})
	t.Run("receivers", o.testReceivers)
}

// testReceivers sends real webhooks to the examples of the guide.
func (o operator) testReceivers(t *testing.T) {
	for _, tt := range []struct {
		language string
		command  func(t *testing.T, addr string) []string
	}{
		{"Go", func(t *testing.T, _ string) []string {
			return []string{buildGo(t, copyGo(t, map[string]string{"verify.go": examples + "/go/verify.go", "main.go": examples + "/go/main.go"}))}
		}},
		{"JavaScript", func(t *testing.T, _ string) []string {
			return []string{program(t, "node"), absolute(t, examples, "node/receiver.mjs")}
		}},
		{"Python", func(t *testing.T, _ string) []string {
			return []string{program(t, "python3"), "-B", absolute(t, examples, "python/receiver.py")}
		}},
		{"the Python client", func(t *testing.T, _ string) []string {
			client := absolute(t, "../../clients/python")
			return []string{program(t, "env"), "PYTHONPATH=" + client + "/src", program(t, "python3"), "-B", client + "/examples/receive_webhooks.py"}
		}},
		{"PHP", func(t *testing.T, addr string) []string {
			return []string{program(t, "php"), "-S", addr, absolute(t, examples, "php/receiver.php")}
		}},
	} {
		t.Run(tt.language, func(t *testing.T) {
			addr := harness.FreeAddr(t)
			command := tt.command(t, addr)
			b, e := o.listen(t, "--forward-to", "http://"+addr+"/")
			var secrets []secret
			o.into(t, &secrets, "webhook", "secret", e.Name)
			_, port, _ := net.SplitHostPort(addr)
			start(t, filepath.Dir(command[len(command)-1]), map[string]string{"WEBHOOK_SECRETS": secrets[0].Secret, "ADDR": addr, "PORT": port}, command...)
			harness.Eventually(t, waiting, func() error {
				conn, err := net.DialTimeout("tcp", addr, time.Second)
				return errors.Join(err, closed(conn))
			})
			for _, event := range webhookevent.Names() {
				var got tried
				if o.into(t, &got, "webhook", "test", e.Name, "--event", event); got.Status != http.StatusNoContent {
					t.Errorf("%s was answered %+v", event, got)
				}
			}
			res, err := http.Post("http://"+addr+"/", "application/json", strings.NewReader(`{"id":"msg_1","event":"pass.purchased","data":{}}`))
			if err != nil || res.StatusCode != http.StatusUnauthorized {
				t.Errorf("an unsigned request is answered %s, %v", status(res), err)
			}
			b.interrupt(t)
		})
	}
}

func closed(conn net.Conn) error {
	if conn == nil {
		return nil
	}
	return conn.Close()
}

func status(res *http.Response) string {
	if res == nil {
		return "nothing"
	}
	_ = res.Body.Close() // the body is not needed
	return strconv.Itoa(res.StatusCode)
}
