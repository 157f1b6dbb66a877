package main

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// certificates returns the root certificates of Mozilla's programme as PEM. The version of the
// module fixes them, whereas those of the machine that makes a release differ. Like Debian's package
// ca-certificates, the file includes roots that Mozilla trusts only for older certificates: a PEM
// file cannot express that.
func certificates() ([]byte, error) {
	var buf bytes.Buffer
	for root := range bundle.Roots() {
		certificate, err := x509.ParseCertificate(root.Certificate)
		if err != nil {
			return nil, err
		}
		buf.WriteString("# " + certificate.Subject.String() + "\n")
		if err := pem.Encode(&buf, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, err
		}
	}
	return buf.Bytes(), nil
}
