package service

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"reservation.dev/platform/config"
	"reservation.dev/platform/mtls"
)

// The values of RESERVATION_ENV.
const (
	Development = "development"
	Production  = "production"
)

// ValidateStage reports a RESERVATION_ENV that is neither.
func ValidateStage(stage string) error {
	if stage == Development || stage == Production {
		return nil
	}
	return fmt.Errorf("RESERVATION_ENV is %q, want %s or %s", stage, Development, Production)
}

// exitSettings is the exit code of a process that was set up wrongly: starting
// it again does not help.
const exitSettings = 2

// ExitCode is that of a process that ends with err.
func ExitCode(err error) int {
	var faults *config.Faults
	if errors.As(err, &faults) {
		return exitSettings
	}
	return 1
}

// readSettings returns the settings of the process, and warnings. The part's own
// settings and the files of its certificate are read too, so that whoever starts
// it is told of all faults at once.
func readSettings(p Part, env config.Env) (Process, []string, error) {
	var proc Process
	groups := []any{&proc}
	if p.Settings != nil {
		groups = append(groups, p.Settings())
	}
	var faults []error
	for _, group := range groups {
		faults = append(faults, config.Read(env, group))
	}
	faults = append(faults, checkAddresses(env, groups)...)
	if proc.TLS.Enabled() && proc.TLS.Validate() == nil {
		_, err := mtls.Open(proc.TLS, slog.New(slog.DiscardHandler))
		faults = append(faults, err)
	}
	warnings := config.Unknown(env, append(config.Names(groups...), config.Names(&Owner{})...))
	if proc.Stage == Production {
		for _, group := range groups {
			faults = append(faults, config.CheckProduction(env, group))
		}
		warnings = append(warnings, plainConnections(env, proc, groups)...)
	}
	return proc, warnings, config.JoinFaults(faults...)
}

// checkAddresses reports addresses that are not host:port: of what is listened on,
// where the host may be left out, and of the services that are called.
func checkAddresses(env config.Env, groups []any) []error {
	var faults []error
	for _, group := range groups {
		for _, s := range config.Settings(group) {
			value := env.Value(s.Name)
			if value == "" || !strings.HasSuffix(s.Name, "_ADDR") || strings.HasPrefix(value, "dns:") || strings.HasPrefix(value, "unix:") {
				continue // dns:///booking:9090 and unix:/run/booking are gRPC's business
			}
			listening := s.Name == "ADMIN_ADDR" || s.Name == "HTTP_ADDR" || s.Name == "GRPC_ADDR"
			for addr := range strings.SplitSeq(value, ",") {
				host, port, err := net.SplitHostPort(strings.TrimSpace(addr))
				number, wrong := strconv.ParseUint(port, 10, 16)
				if err != nil || wrong != nil || !listening && (host == "" || number == 0) {
					faults = append(faults, fmt.Errorf("%s has %q, want host:port", s.Name, strings.TrimSpace(addr)))
				}
			}
		}
	}
	return faults
}

// checkSettings is the command check: it prints the warnings, and returns the
// faults as serve would.
func checkSettings(out io.Writer, p Part, env config.Env) error {
	_, warnings, err := readSettings(p, env)
	for _, warning := range warnings {
		fmt.Fprintln(out, "warning:", warning)
	}
	if err == nil {
		fmt.Fprintf(out, "%s: the settings are right\n", p.Name)
	}
	return err
}

// openTLS returns the certificate of the process; nil: it has none.
func (p Process) openTLS(log *slog.Logger) (*mtls.Files, error) {
	if !p.TLS.Enabled() {
		return nil, nil
	}
	return mtls.Open(p.TLS, log)
}

// plainConnections warns of what leaves the machine without TLS. It is no fault:
// a mesh may encrypt it.
func plainConnections(env config.Env, proc Process, groups []any) []string {
	var warnings []string
	for _, group := range groups {
		for _, s := range config.Settings(group) {
			value := env.Value(s.Name)
			if value == "" {
				value = s.Default
			}
			if !leavesPlain(s.Name, value, proc.TLS.Enabled(), env) {
				continue
			}
			warnings = append(warnings, s.Name+" leads to other machines without TLS")
		}
	}
	return warnings
}

// leavesPlain reports whether the setting is the address of a server on another
// machine, or one for callers of other machines, that is reached without TLS.
func leavesPlain(name, value string, mutual bool, env config.Env) bool {
	switch {
	case value == "" || name == "HTTP_ADDR" || name == "ADMIN_ADDR":
		return false
	case strings.HasSuffix(name, "_ADDR"):
		return !mutual && slices.ContainsFunc(strings.Split(value, ","), func(addr string) bool { return !isLoopback(addr) })
	case name == "NATS_URL":
		return env.Value("NATS_CA_FILE") == "" && slices.ContainsFunc(strings.Split(value, ","), func(server string) bool {
			u, err := url.Parse(strings.TrimSpace(server))
			return err == nil && u.Scheme != "tls" && u.Scheme != "wss" && !isLoopback(u.Host)
		})
	case strings.HasSuffix(name, "DATABASE_URL"):
		u, err := url.Parse(value)
		if err != nil || u.Host == "" {
			return false // a list of words, or a socket
		}
		mode := u.Query().Get("sslmode")
		return !isLoopback(u.Host) && mode != "require" && mode != "verify-ca" && mode != "verify-full"
	}
	return false
}

// isLoopback reports whether a host with or without a port is this machine.
func isLoopback(addr string) bool {
	addr = strings.TrimSpace(addr)
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		host = addr
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && ip.IsLoopback()
}
