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

// CheckURL returns an error, with the setting's name, if the URL is invalid or one of its
// certificate files cannot be read. The error contains nothing of the URL, which has a
// password.
func CheckURL(name string, url config.Secret) error {
	if _, err := pgx.ParseConfig(url.Reveal()); err != nil {
		return urlFault(name, err)
	}
	return nil
}

// urlFault explains why a URL cannot be used. It does not use the library's text, which
// quotes the URL and masks only the passwords that it recognises.
func urlFault(name string, err error) error {
	const mark = "`: "
	var parse *pgconn.ParseConfigError
	text := err.Error()
	i := strings.LastIndex(text, mark)
	if !errors.As(err, &parse) || i < 0 {
		return fmt.Errorf("%s cannot be used", name)
	}
	why := text[i+len(mark):]
	if !strings.HasPrefix(why, "failed to configure TLS") { // the cause of a TLS failure names only a file
		why, _, _ = strings.Cut(why, " (")
	}
	return fmt.Errorf("%s cannot be used: %s", name, why)
}

// explain names the setting that causes a refused connection.
func explain(err error) error {
	var untrusted *tls.CertificateVerificationError
	if errors.As(err, &untrusted) {
		return fmt.Errorf("the database's certificate is not trusted; sslrootcert in the URL names the file of its authority, and the host must be in the certificate: %w", err)
	}
	return err
}
