//go:build unix

package pgserver

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/pg"
)

// Durability is how much data the crash of the machine can destroy.
type Durability int

const (
	// Safe loses nothing that was committed.
	Safe Durability = iota
	// Fast never waits for the disk. If the machine crashes, the cluster is lost; if only a
	// process crashes, it is not. It is for tests.
	Fast
)

// Options configures a server.
type Options struct {
	// Dir is the server's directory. Start creates it if necessary. Each directory has one
	// server.
	Dir string
	// BinDir is the directory of initdb and postgres; "": Find searches for it.
	BinDir string
	// Port is the port on the loopback address; 0: a free port, another one at each start.
	Port int
	// Durable is Safe by default.
	Durable Durability
	// MaxConnections bounds the number of sessions; 0: 100.
	MaxConnections int
	// Logical lets the server publish changes and subscribe to those of others, for eight databases.
	Logical bool
	// Log gets messages about long waits and unusual locations; nil: none. The server's own log
	// is in Dir.
	Log *slog.Logger
}

const defaultMaxConnections = 100

// Server is a running PostgreSQL server.
type Server struct {
	opts    Options
	cluster *cluster
	port    int
	process *process
	log     *logFile
	locks   []*os.File

	// freePort returns a free port for a server without a given port.
	freePort func() (int, error)

	mu       sync.Mutex
	stopping bool
	released bool // other processes can use the directory
	removed  bool
}

// Start starts the server of opts.Dir and returns when it accepts connections. In a new directory,
// this takes about a second. Start waits up to 30 s for an earlier server in the directory to end.
// The server continues to run after ctx ends; if ctx ends before Start returns, Start leaves no
// process. Start removes the variables of PostgreSQL clients (PGHOST, PGSERVICE, …) from the
// environment of the process.
func Start(ctx context.Context, opts Options) (*Server, error) {
	opts, err := opts.complete()
	if err != nil {
		return nil, fmt.Errorf("private database: %w", err)
	}
	if err := ForgetClientSettings(); err != nil {
		return nil, err
	}
	s := &Server{opts: opts, freePort: freePort}
	if err := s.start(ctx); err != nil {
		s.releaseAll()
		return nil, fmt.Errorf("private database in %s: %w", opts.Dir, err)
	}
	return s, nil
}

func (o Options) complete() (Options, error) {
	if o.Dir == "" {
		return o, errors.New("Options.Dir is required")
	}
	if o.Port < 0 || o.Port > 65535 {
		return o, fmt.Errorf("Options.Port must be between 0 and 65535, not %d", o.Port)
	}
	if o.MaxConnections < 0 {
		return o, fmt.Errorf("Options.MaxConnections must not be negative: %d", o.MaxConnections)
	}
	if o.MaxConnections == 0 {
		o.MaxConnections = defaultMaxConnections
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return o, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return o, err
	}
	if err := enterable(dir); err != nil {
		return o, err
	}
	o.Dir, err = filepath.EvalSymlinks(dir)
	return o, err
}

func (s *Server) start(ctx context.Context) error {
	if err := s.lock(ctx, s.opts.Dir); err != nil {
		return err
	}
	c, err := findCluster(ctx, s.opts.Dir, s.opts.BinDir, s.opts.Log)
	if err != nil {
		return err
	}
	s.cluster = c
	if c.external() {
		if err := Protect(c.home, c.home); err != nil {
			return err
		}
	}
	if err := s.lockRoot(ctx); err != nil {
		return err
	}
	running, err := lockCluster(ctx, c.running(), c.data(), s.opts.Log)
	if err != nil {
		return err
	}
	// PostgreSQL inherits the descriptor. From then on, the file is locked as long as it runs.
	defer running.Close()
	if err := c.create(ctx, s.opts.Durable, running); err != nil {
		return err
	}
	if err := clearPIDFile(c.data()); err != nil {
		return err
	}
	if s.log, err = openLog(filepath.Join(s.opts.Dir, "postgres.log"), logLimit); err != nil {
		return err
	}
	return s.launch(ctx, running)
}

func (s *Server) lock(ctx context.Context, dir string) error {
	f, err := lock(ctx, filepath.Join(dir, "lock"), s.opts.Log)
	if err != nil {
		return err
	}
	s.locks = append(s.locks, f)
	return nil
}

// lockRoot locks an external cluster. Two directories can name the same cluster if one is a copy of
// the other.
func (s *Server) lockRoot(ctx context.Context) error {
	if !s.cluster.external() {
		return nil
	}
	return s.lock(ctx, s.cluster.root)
}

// portTaken is PostgreSQL's message if it cannot listen on its port.
const portTaken = "could not create any TCP/IP sockets"

// ErrPortTaken reports that another program listens on the given port.
var ErrPortTaken = errors.New("another program listens on it")

// launch starts the server. If another program takes a free port before the server does, launch
// tries another one.
func (s *Server) launch(ctx context.Context, running *os.File) error {
	const attempts = 5
	for attempt := 1; ; attempt++ {
		s.port = s.opts.Port
		if s.port == 0 {
			var err error
			if s.port, err = s.freePort(); err != nil {
				return err
			}
		}
		err := s.launchOnce(ctx, running)
		if err == nil {
			return nil
		}
		if !s.log.contains(portTaken) || ctx.Err() != nil {
			return err
		}
		if s.opts.Port != 0 {
			return fmt.Errorf("port %d is taken: %w: %w", s.port, ErrPortTaken, err)
		}
		if attempt == attempts {
			return err
		}
	}
}

func (s *Server) launchOnce(ctx context.Context, running *os.File) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	cmd := exec.Command(s.cluster.bin.path("postgres"), s.args()...)
	cmd.Dir = s.cluster.root
	cmd.ExtraFiles = []*os.File{running}
	cmd.Stdout, cmd.Stderr = s.log, s.log
	p, err := spawn(cmd, s.cluster.account, syscall.SIGINT)
	if err != nil {
		return err
	}
	if err := s.awaitReady(ctx, p); err != nil {
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), quitTimeout)
		defer cancel()
		stopped := p.shutDown(stop)
		select {
		case <-p.done: // it has ended, so an unclean shutdown does not matter
			return err
		default:
			return errors.Join(err, stopped)
		}
	}
	s.process = p
	return nil
}

const readyPoll = 10 * time.Millisecond

func (s *Server) awaitReady(ctx context.Context, p *process) error {
	ticker := time.NewTicker(readyPoll)
	defer ticker.Stop()
	for !isReady(s.cluster.data(), p.cmd.Process.Pid) {
		select {
		case <-p.done:
			return fmt.Errorf("PostgreSQL did not start: %w\n%s", exitError(p.err), s.log.last())
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
	conn, err := pgx.Connect(ctx, s.AdminURL())
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, `revoke connect on database postgres, template1 from public`)
	return errors.Join(err, conn.Close(ctx))
}

// args returns the server's arguments. These settings override postgresql.conf and ALTER SYSTEM.
func (s *Server) args() []string {
	settings := []string{
		"listen_addresses=127.0.0.1",
		"port=" + strconv.Itoa(s.port),
		"unix_socket_directories=",
		"max_connections=" + strconv.Itoa(s.opts.MaxConnections),
		"shared_buffers=128MB",
		"jit=off", // costs more than it saves on short queries
		"password_encryption=scram-sha-256",
		"TimeZone=UTC",
		"log_timezone=UTC",
		"log_destination=stderr",
		"logging_collector=off",
		"log_line_prefix=%m [%p] %q%u@%d ",
		"log_checkpoints=off",
	}
	if s.opts.Durable == Fast {
		settings = append(settings, "fsync=off", "full_page_writes=off", "synchronous_commit=off",
			"wal_level=minimal", "max_wal_senders=0", "checkpoint_timeout=1h")
	} else {
		settings = append(settings, "fsync=on", "full_page_writes=on", "synchronous_commit=on")
	}
	if s.opts.Logical { // the last value of a setting counts
		settings = append(settings, "wal_level=logical", "max_wal_senders=32", "max_replication_slots=32",
			"max_logical_replication_workers=24", "max_worker_processes=32", "max_sync_workers_per_subscription=2")
	}
	args := []string{"-D", s.cluster.data()}
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	return args
}

func freePort() (int, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// AdminURL returns the superuser's URL, with the password. Its database is postgres.
func (s *Server) AdminURL() string {
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(superuser, s.cluster.password),
		Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)), Path: "/postgres", RawQuery: "sslmode=disable",
	}
	return u.String()
}

// EnsureDatabase calls pg.EnsureDatabase on this server. The roles' passwords are derived from the
// superuser's password, so they are the same after a restart.
func (s *Server) EnsureDatabase(ctx context.Context, name, ownerRole, appRole string) (ownerURL, appURL string, err error) {
	return pg.EnsureDatabase(ctx, s.AdminURL(), name, ownerRole, appRole, s.secretFor)
}

func (s *Server) secretFor(role string) string {
	mac := hmac.New(sha256.New, []byte(s.cluster.password))
	mac.Write([]byte("role " + role))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:24])
}

// Wait waits until the server or ctx ends. It returns an error with the last lines of the log if the
// server ended without Stop, and otherwise nil.
func (s *Server) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-s.process.done:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return nil
	}
	return fmt.Errorf("the private database in %s ended unexpectedly: %w\n%s", s.opts.Dir, exitError(s.process.err), s.log.last())
}

func exitError(err error) error {
	if err == nil {
		return errors.New("without an error")
	}
	return err
}

// Stop disconnects the sessions, writes everything to disk, and returns when the server has ended.
// If ctx ends first, the server is stopped immediately, from which the next Start recovers, and Stop
// returns an error. Stop can be called several times, even at the same time.
func (s *Server) Stop(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.end(ctx)
	if s.ended() {
		s.releaseAll()
	}
	return err
}

// Remove stops the server and deletes all its data, including an external cluster. The directory
// itself stays. Remove can be called after Stop.
func (s *Server) Remove(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.end(ctx)
	if !s.ended() || s.removed {
		return err
	}
	defer s.releaseAll()
	if s.released {
		// Without the locks, this could delete the data of the next server.
		s.released, s.locks = false, nil
		if err := errors.Join(s.lock(ctx, s.opts.Dir), s.lockRoot(ctx)); err != nil {
			return err
		}
	}
	s.removed = true
	return errors.Join(err, s.cluster.remove())
}

// end shuts the server down unless it has ended. The caller holds mu.
func (s *Server) end(ctx context.Context) error {
	if s.ended() { // unexpectedly, or in an earlier call
		return nil
	}
	s.stopping = true
	if err := s.process.shutDown(ctx); err != nil {
		return fmt.Errorf("private database in %s: %w", s.opts.Dir, err)
	}
	return nil
}

func (s *Server) ended() bool {
	select {
	case <-s.process.done:
		return true
	default: // a server that does not end keeps the directory locked
		return false
	}
}

// releaseAll releases the locks of the directory. The caller holds mu.
func (s *Server) releaseAll() {
	if s.released {
		return
	}
	s.released = true
	if s.log != nil {
		s.log.close()
	}
	for _, f := range s.locks {
		f.Close()
	}
}
