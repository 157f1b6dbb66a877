// Package mtls lets the services authenticate each other with TLS certificates. A server
// accepts calls only from holders of a certificate that its CA signed, and a client
// connects only to the service that it wants to call. The certificates are files, as
// cert-manager or a SPIFFE agent mounts them, and are read again when they change.
//
//	certificate                                             names
//	DNS SAN booking                                         booking
//	URI SAN spiffe://D/…/booking, D being the trust domain  booking, and the URI itself
//
// Invariants:
//
//  1. Only TLS 1.3 is used, and no session is resumed: every connection presents its
//     certificate.
//  2. Both sides verify the other's chain with the CA certificates of the CA file, never
//     with the system's.
//  3. A client accepts a certificate only if it names the service that the client calls,
//     or the host that the client dialled.
//  4. A handshake uses the current content of the files. If the files do not match each
//     other, the previous content stays in use, and a log line and a metric report it.
package mtls
