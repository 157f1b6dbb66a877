package pg

import (
	"crypto/tls"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"reservation.dev/platform/config"
)

// CheckURL reports, under the setting's name, a URL that cannot be used: one
// that cannot be read, or whose certificate files cannot. It shows nothing of
// the URL, which has a password.
func CheckURL(name string, url config.Secret) error {
	if _, err := pgx.ParseConfig(url.Reveal()); err != nil {
		return urlFault(name, err)
	}
	return nil
}

// urlFault says why a URL cannot be used. The library's own text quotes it, and
// masks passwords only where it can tell what is one.
func urlFault(name string, err error) error {
	const mark = "`: "
	var parse *pgconn.ParseConfigError
	text := err.Error()
	i := strings.LastIndex(text, mark)
	if !errors.As(err, &parse) || i < 0 {
		return fmt.Errorf("%s cannot be used", name)
	}
	why := text[i+len(mark):]
	if !strings.HasPrefix(why, "failed to configure TLS") { // whose cause names a file
		why, _, _ = strings.Cut(why, " (")
	}
	return fmt.Errorf("%s cannot be used: %s", name, why)
}

// explain says which setting is behind a connection that was refused.
func explain(err error) error {
	var untrusted *tls.CertificateVerificationError
	if errors.As(err, &untrusted) {
		return fmt.Errorf("the database's certificate is not trusted; sslrootcert in the URL names the file of its authority, and the host must be in the certificate: %w", err)
	}
	return err
}
