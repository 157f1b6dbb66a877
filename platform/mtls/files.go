package mtls

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// checkEvery is the minimum time between two checks of the files. They are checked only
// during a handshake and when the metrics are read.
const checkEvery = time.Second

// Files holds the certificate and the CA certificates of this process. It is safe for
// concurrent use.
type Files struct {
	cfg     Config
	log     *slog.Logger
	every   time.Duration
	refused prometheus.Counter

	mu      sync.Mutex
	loaded  *material
	seen    []os.FileInfo // of the files when they were last read; nil for a missing file
	checked time.Time
	failing error     // why the files could not replace loaded; nil if they did
	logged  time.Time // when a failed handshake was last logged
}

// material is the parsed content of the files.
type material struct {
	cert  tls.Certificate
	roots *x509.CertPool
}

// Open reads the files. It returns an error if they cannot be used.
func Open(cfg Config, log *slog.Logger) (*Files, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	f := &Files{cfg: cfg, log: log, every: checkEvery, refused: prometheus.NewCounter(prometheus.CounterOpts{
		Name: "grpc_tls_refused_total", Help: "Connections to the gRPC port refused in the TLS handshake: no client certificate, or an untrusted one.",
	})}
	var err error
	f.seen = f.stat()
	f.checked = time.Now()
	if f.loaded, err = load(cfg); err != nil {
		return nil, err
	}
	return f, nil
}

func load(cfg Config) (*material, error) {
	read := func(name, path string, faults *[]error) []byte {
		text, err := os.ReadFile(path)
		if err != nil {
			*faults = append(*faults, fmt.Errorf("%s: %w", name, err))
		}
		return text
	}
	var faults []error
	cert := read("GRPC_TLS_CERT_FILE", cfg.CertFile, &faults)
	key := read("GRPC_TLS_KEY_FILE", cfg.KeyFile, &faults)
	ca := read("GRPC_TLS_CA_FILE", cfg.CAFile, &faults)
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	m := &material{roots: x509.NewCertPool()}
	var err error
	if m.cert, err = tls.X509KeyPair(cert, key); err != nil {
		faults = append(faults, fmt.Errorf("GRPC_TLS_CERT_FILE %s, GRPC_TLS_KEY_FILE %s: %w", cfg.CertFile, cfg.KeyFile, err))
	}
	if !m.roots.AppendCertsFromPEM(ca) {
		faults = append(faults, fmt.Errorf("GRPC_TLS_CA_FILE %s contains no PEM certificate", cfg.CAFile))
	}
	return m, errors.Join(faults...)
}

// stat returns the file information by which a change is detected, with nil for a missing
// file. It follows links, because a Kubernetes mount swaps a link above the files.
func (f *Files) stat() []os.FileInfo {
	infos := make([]os.FileInfo, 3)
	for i, path := range []string{f.cfg.CertFile, f.cfg.KeyFile, f.cfg.CAFile} {
		if info, err := os.Stat(path); err == nil {
			infos[i] = info
		}
	}
	return infos
}

func same(a, b []os.FileInfo) bool {
	for i := range a {
		switch {
		case a[i] == nil || b[i] == nil:
			if a[i] != b[i] {
				return false
			}
		case !os.SameFile(a[i], b[i]) || a[i].Size() != b[i].Size() || !a[i].ModTime().Equal(b[i].ModTime()):
			return false
		}
	}
	return true
}

// current returns the content of the files, or the previous content if the files do not
// match each other.
func (f *Files) current() *material {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	if now.Sub(f.checked) < f.every {
		return f.loaded
	}
	f.checked = now
	// stat comes before load, so that a change in between is noticed the next time.
	infos := f.stat()
	if same(infos, f.seen) {
		return f.loaded
	}
	f.seen = infos
	m, err := load(f.cfg)
	f.failing = err
	if err != nil {
		f.log.Warn("certificate files cannot be used, keeping the previous ones", "error", err.Error(), "until", f.loaded.cert.Leaf.NotAfter)
		return f.loaded
	}
	f.loaded = m
	f.log.Info("certificate files read again", "serial", m.cert.Leaf.SerialNumber.String(), "until", m.cert.Leaf.NotAfter)
	return f.loaded
}

// Collect registers the metrics: when the certificate expires, whether its files can be
// used, and how many handshakes failed.
func (f *Files) Collect(r prometheus.Registerer) error {
	for _, c := range []prometheus.Collector{
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "grpc_tls_certificate_expiry_timestamp_seconds", Help: "When the certificate in use expires, in seconds since 1970.",
		}, func() float64 { return float64(f.current().cert.Leaf.NotAfter.Unix()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "grpc_tls_reload_failing", Help: "1 while the certificate files cannot be used and their earlier contents stay in use, otherwise 0.",
		}, func() float64 {
			f.current()
			f.mu.Lock()
			defer f.mu.Unlock()
			if f.failing != nil {
				return 1
			}
			return 0
		}),
		f.refused,
	} {
		if err := r.Register(c); err != nil {
			return err
		}
	}
	return nil
}

// refusalLogInterval limits the log lines about failed handshakes, so that one client
// cannot fill the log.
const refusalLogInterval = 10 * time.Second

// refuse counts a failed handshake, and logs at most one per refusalLogInterval.
func (f *Files) refuse(remote string, err error) {
	f.refused.Inc()
	f.mu.Lock()
	now := time.Now()
	quiet := now.Sub(f.logged) < refusalLogInterval
	if !quiet {
		f.logged = now
	}
	f.mu.Unlock()
	if !quiet {
		f.log.Warn("grpc: TLS handshake failed", "remote", remote, "error", err.Error())
	}
}
