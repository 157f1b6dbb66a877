package mtls

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"

	"google.golang.org/grpc/credentials"
)

// Peer identifies the caller at the other end of a connection by its certificate.
type Peer struct {
	credentials.TLSInfo
	// Names are the caller's names, as the table in the package documentation defines them.
	Names []string
}

// String returns the caller's first name, for messages.
func (p *Peer) String() string {
	if len(p.Names) > 0 {
		return p.Names[0]
	}
	return "a certificate without a name"
}

// Server returns the credentials of a server. Its connections have a *Peer as AuthInfo.
func (f *Files) Server() credentials.TransportCredentials { return serverSide{f} }

// Client returns the credentials for calls to the service named part.
func (f *Files) Client(part string) credentials.TransportCredentials { return clientSide{f, part} }

var errSide = errors.New("mtls: these credentials are for the other side")

// info is the same for both sides.
func info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "tls"}
}

type serverSide struct{ files *Files }

func (s serverSide) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	m := s.files.current()
	conn, auth, err := credentials.NewTLS(&tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{m.cert},
		ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: m.roots,
		SessionTicketsDisabled: true,
	}).ServerHandshake(raw)
	if err != nil {
		if !errors.Is(err, io.EOF) { // EOF: a client that only checks whether the port is open
			s.files.refuse(raw.RemoteAddr().String(), err)
		}
		return nil, nil, err
	}
	state, ok := auth.(credentials.TLSInfo)
	if !ok || len(state.State.PeerCertificates) == 0 {
		conn.Close()
		return nil, nil, errors.New("mtls: no certificate")
	}
	return conn, &Peer{TLSInfo: state, Names: s.files.cfg.names(state.State.PeerCertificates[0])}, nil
}

func (serverSide) ClientHandshake(context.Context, string, net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errSide
}
func (serverSide) Info() credentials.ProtocolInfo            { return info() }
func (s serverSide) Clone() credentials.TransportCredentials { return s }
func (serverSide) OverrideServerName(string) error           { return errSide }

type clientSide struct {
	files *Files
	part  string
}

func (c clientSide) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	m := c.files.current()
	host, _, err := net.SplitHostPort(authority)
	if err != nil {
		host = authority
	}
	return credentials.NewTLS(&tls.Config{
		MinVersion: tls.VersionTLS13, ServerName: host,
		// The client always presents its certificate. A server that does not know the CA
		// can then say so.
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &m.cert, nil },
		// The library verifies only host names. verify checks the chain and the names.
		InsecureSkipVerify: true,
		VerifyConnection:   func(s tls.ConnectionState) error { return c.verify(m, host, s.PeerCertificates) },
	}).ClientHandshake(ctx, authority, raw)
}

// verify checks a server's certificate chain, and that its certificate names the service
// or the host.
func (c clientSide) verify(m *material, host string, chain []*x509.Certificate) error {
	if len(chain) == 0 {
		return errors.New("the server has no certificate")
	}
	opts := x509.VerifyOptions{
		Roots: m.roots, Intermediates: x509.NewCertPool(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, cert := range chain[1:] {
		opts.Intermediates.AddCert(cert)
	}
	leaf := chain[0]
	if _, err := leaf.Verify(opts); err != nil {
		return err
	}
	names := c.files.cfg.names(leaf)
	if slices.Contains(names, c.part) || host != "" && leaf.VerifyHostname(host) == nil {
		return nil
	}
	return fmt.Errorf("the server's certificate is for %q, but neither for the service %q nor for the host %q", names, c.part, host)
}

func (clientSide) ServerHandshake(net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errSide
}
func (clientSide) Info() credentials.ProtocolInfo            { return info() }
func (c clientSide) Clone() credentials.TransportCredentials { return c }
func (clientSide) OverrideServerName(string) error           { return errSide }

// names returns the names of a certificate's holder. A URI of another trust domain names
// no service, but GRPC_ALLOWED_CALLERS can still list the whole URI.
func (c Config) names(cert *x509.Certificate) []string {
	var names []string
	for _, dns := range cert.DNSNames {
		names = append(names, strings.ToLower(dns))
	}
	for _, uri := range cert.URIs {
		if part := c.partOf(uri); part != "" {
			names = append(names, part)
		}
		names = append(names, uri.String())
	}
	return names
}

// partOf returns the service that a SPIFFE identifier names, or "" if it names none.
func (c Config) partOf(uri *url.URL) string {
	if c.TrustDomain == "" || uri.Scheme != "spiffe" || !strings.EqualFold(uri.Host, c.TrustDomain) {
		return ""
	}
	return uri.Path[strings.LastIndex(uri.Path, "/")+1:]
}
