// Package mtls lets the parts of the platform authenticate each other with TLS
// certificates. A server accepts calls only from holders of a certificate of its
// authority, and a client calls only the part that it means. The certificates are files,
// as cert-manager or a SPIFFE agent mounts them, and are read again when they change.
//
//	certificate           names
//	DNS SAN booking       booking
//	URI SAN spiffe://D/…/booking, with the trust domain D configured   booking, and the URI itself
//
// Invariants:
//
//  1. TLS 1.3 alone, and no session is resumed: every connection shows its certificate.
//  2. Both sides verify the other's chain with the authorities of the CA file, and
//     never with the system's.
//  3. A client goes on only where the certificate names the part it calls, or the
//     host it dialled.
//  4. A handshake begins with the files' present content. Files that do not go
//     together leave what was read before in use, and say so.
package mtls
