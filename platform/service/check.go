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

// ValidateStage returns an error if stage is not a value of RESERVATION_ENV.
func ValidateStage(stage string) error {
	if stage == Development || stage == Production {
		return nil
	}
	return fmt.Errorf("RESERVATION_ENV is %q; it must be %s or %s", stage, Development, Production)
}

// exitSettings is the exit code of a process with wrong settings, which a restart does
// not fix.
const exitSettings = 2

// ExitCode returns the exit code of a process that ends with err: 2 for wrong settings,
// otherwise 1.
func ExitCode(err error) int {
	var faults *config.Faults
	if errors.As(err, &faults) {
		return exitSettings
	}
	return 1
}

// readSettings returns the settings of the process, and warnings. It also reads the
// service's own settings and the files of its certificate, so that the error lists all
// faults together.
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

// checkAddresses reports addresses that are not host:port. A listening address can have
// an empty host; the address of another service cannot.
func checkAddresses(env config.Env, groups []any) []error {
	var faults []error
	for _, group := range groups {
		for _, s := range config.Settings(group) {
			value := env.Value(s.Name)
			if value == "" || !strings.HasSuffix(s.Name, "_ADDR") || strings.HasPrefix(value, "dns:") || strings.HasPrefix(value, "unix:") {
				continue // gRPC itself checks dns:///booking:9090 and unix:/run/booking
			}
			listening := s.Name == "ADMIN_ADDR" || s.Name == "HTTP_ADDR" || s.Name == "GRPC_ADDR"
			for addr := range strings.SplitSeq(value, ",") {
				host, port, err := net.SplitHostPort(strings.TrimSpace(addr))
				number, wrong := strconv.ParseUint(port, 10, 16)
				if err != nil || wrong != nil || !listening && (host == "" || number == 0) {
					faults = append(faults, fmt.Errorf("%s contains %q; it must be host:port", s.Name, strings.TrimSpace(addr)))
				}
			}
		}
	}
	return faults
}

// checkSettings runs the command check: it prints the warnings, and returns the same
// faults as serve would.
func checkSettings(out io.Writer, p Part, env config.Env) error {
	_, warnings, err := readSettings(p, env)
	for _, warning := range warnings {
		fmt.Fprintln(out, "warning:", warning)
	}
	if err == nil {
		fmt.Fprintf(out, "%s: the settings are valid\n", p.Name)
	}
	return err
}

// openTLS returns the certificate of the process, or nil if TLS is not configured.
func (p Process) openTLS(log *slog.Logger) (*mtls.Files, error) {
	if !p.TLS.Enabled() {
		return nil, nil
	}
	return mtls.Open(p.TLS, log)
}

// plainConnections returns a warning for each setting whose traffic leaves the machine
// without TLS. It is not a fault, because a service mesh may encrypt the traffic.
func plainConnections(env config.Env, proc Process, groups []any) []string {
	var warnings []string
	for _, group := range groups {
		for _, s := range config.Settings(group) {
			value := env.Value(s.Name)
			if value == "" {
				value = s.Default
			}
			if !isUnencrypted(s.Name, value, proc.TLS.Enabled(), env) {
				continue
			}
			warnings = append(warnings, s.Name+" carries traffic between machines without TLS")
		}
	}
	return warnings
}

// isUnencrypted reports whether the setting connects this machine to others without TLS: as
// the address of a server elsewhere, or as an address on which callers from elsewhere
// connect.
func isUnencrypted(name, value string, mutual bool, env config.Env) bool {
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
			return false // key=value pairs, or a socket
		}
		mode := u.Query().Get("sslmode")
		return !isLoopback(u.Host) && mode != "require" && mode != "verify-ca" && mode != "verify-full"
	}
	return false
}

// isLoopback reports whether addr, a host with or without a port, is this machine.
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
