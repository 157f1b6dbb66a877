package directory

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// commandTimeout is how long HAProxy can take for a command. The commit of a large map takes longest.
	commandTimeout = 10 * time.Second
	// readTimeout is how long a whole map can take, which can have more than a million lines.
	readTimeout = time.Minute
	// maxPayload is the size of the lines in one command. HAProxy's limit is tune.bufsize, 16384 by default.
	maxPayload = 12_000
	maxAnswer  = 64 << 10
)

// haproxy is HAProxy's runtime API at a UNIX socket.
type haproxy struct {
	socket string
	files  files
	now    func() time.Time

	pid     string
	started time.Time
}

// command sends one command and returns the answer without surrounding white space.
func (h *haproxy) command(ctx context.Context, command string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	conn, err := h.send(ctx, command)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	answer, err := io.ReadAll(io.LimitReader(conn, maxAnswer))
	return strings.TrimSpace(string(answer)), err
}

// send sends one command. The caller reads the answer until ctx ends, and closes the connection.
func (h *haproxy) send(ctx context.Context, command string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", h.socket)
	if err != nil {
		return nil, err
	}
	if deadline, ok := ctx.Deadline(); ok {
		err = conn.SetDeadline(deadline)
	}
	if err == nil {
		_, err = io.WriteString(conn, command+"\n")
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// read returns the lines of a map. There are none if HAProxy does not run.
func (h *haproxy) read(ctx context.Context, m mapName) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	command := "show map " + h.files.path(m)
	conn, err := h.send(ctx, command)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("HAProxy: %s: %w", command, err)
	}
	defer conn.Close()
	lines := map[string]string{}
	s := bufio.NewScanner(conn)
	for s.Scan() {
		// A line is an address in memory, the key and the value.
		switch f := strings.Fields(s.Text()); {
		case len(f) == 3 && strings.HasPrefix(f[0], "0x"):
			lines[f[1]] = f[2]
		case len(f) > 0:
			return nil, fmt.Errorf("HAProxy: %s: %.200s", command, s.Text())
		}
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("HAProxy: %s: %w", command, err)
	}
	return lines, nil
}

// run sends a command that has an answer only if it fails.
func (h *haproxy) run(ctx context.Context, command string) error {
	answer, err := h.command(ctx, command)
	if err == nil && answer != "" {
		err = errors.New(answer)
	}
	if err != nil {
		name, _, _ := strings.Cut(command, "<<")
		return fmt.Errorf("HAProxy: %s: %w", strings.TrimSpace(name), err)
	}
	return nil
}

// hasRestarted reports whether HAProxy has started or reloaded since the last call, and so has read the files.
func (h *haproxy) hasRestarted(ctx context.Context) (bool, error) {
	answer, err := h.command(ctx, "show info")
	if err != nil {
		return false, fmt.Errorf("HAProxy: %w", err)
	}
	var pid string
	uptime := -1
	for line := range strings.Lines(answer) {
		name, value, _ := strings.Cut(line, ": ")
		switch name {
		case "Pid":
			pid = strings.TrimSpace(value)
		case "Uptime_sec":
			uptime, err = strconv.Atoi(strings.TrimSpace(value))
		}
	}
	if err != nil || pid == "" || uptime < 0 {
		return false, fmt.Errorf("HAProxy: show info has no Pid or Uptime_sec: %.200q", answer)
	}
	// The same process identifier can be that of another process in a container. The time is only precise to a second.
	started := h.now().Add(-time.Duration(uptime) * time.Second)
	restarted := pid != h.pid || started.Sub(h.started).Abs() > 3*time.Second
	if restarted {
		h.pid, h.started = pid, started
	}
	return restarted, nil
}

// apply makes one change of a line.
func (h *haproxy) apply(ctx context.Context, o op) error {
	return h.run(ctx, strings.TrimSpace(fmt.Sprintf("%s map %s %s %s", o.verb, h.files.path(o.in), o.key, o.value)))
}

// replace replaces a map as a whole. Requests see the old lines until all new ones are there.
func (h *haproxy) replace(ctx context.Context, m mapName, lines []byte) error {
	path := h.files.path(m)
	answer, err := h.command(ctx, "prepare map "+path)
	if err != nil {
		return fmt.Errorf("HAProxy: %w", err)
	}
	version, found := strings.CutPrefix(answer, "New version created: ")
	if !found {
		return fmt.Errorf("HAProxy: prepare map %s: %s", path, answer)
	}
	for len(lines) > 0 && err == nil {
		end := len(lines)
		if end > maxPayload {
			end = bytes.LastIndexByte(lines[:maxPayload], '\n') + 1
		}
		err = h.run(ctx, fmt.Sprintf("add map @%s %s <<\n%s", version, path, lines[:end]))
		lines = lines[end:]
	}
	if err == nil {
		err = h.run(ctx, fmt.Sprintf("commit map @%s %s", version, path))
	}
	if err != nil {
		_, _ = h.command(context.WithoutCancel(ctx), fmt.Sprintf("clear map @%s %s", version, path))
	}
	return err
}
