package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"net/url"
	"strings"
	"time"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/totp"

	"reservation.dev/platform/id"
)

const (
	// totpPeriod and the digits are what every authenticator app assumes.
	totpPeriod = 30 * time.Second
	// totpSkew is by how many periods a phone's clock may be off.
	totpSkew = 1
	// totpSecretBytes is what RFC 4226 recommends.
	totpSecretBytes = 20
	recoveryCodes   = 10
)

// newTotp makes a secret for an administrator of a company.
func newTotp(company, email string) (uri, secret string) {
	bits := make([]byte, totpSecretBytes)
	_, _ = rand.Read(bits) // never fails
	secret = base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(bits)
	return totpURI(company, email, secret), secret
}

// totpURI is what authenticator apps read from a QR code.
func totpURI(company, email, secret string) string {
	issuer := strings.ReplaceAll(company, ":", " ")
	query := url.Values{"secret": {secret}, "issuer": {issuer}, "algorithm": {"SHA1"}, "digits": {"6"}, "period": {"30"}}
	// Apps take a plus sign for itself.
	return "otpauth://totp/" + url.PathEscape(issuer+":"+email) + "?" + strings.ReplaceAll(query.Encode(), "+", "%20")
}

// totpStep returns the period whose code this is, among the present one and its
// neighbours; 0: of none that comes after the last one that was used.
func totpStep(secret, code string, now time.Time, last int64) (int64, error) {
	code = strings.ReplaceAll(code, " ", "")
	present := now.Unix() / int64(totpPeriod/time.Second)
	found := int64(0)
	for step := present - totpSkew; step <= present+totpSkew; step++ {
		want, err := totp.GenerateCodeCustom(secret, time.Unix(step*int64(totpPeriod/time.Second), 0),
			totp.ValidateOpts{Period: uint(totpPeriod / time.Second), Digits: otp.DigitsSix, Algorithm: otp.AlgorithmSHA1})
		if err != nil {
			return 0, err
		}
		if subtle.ConstantTimeCompare([]byte(want), []byte(code)) == 1 && step > last {
			found = step
		}
	}
	return found, nil
}

// totpContext binds a sealed secret to its administrator.
func totpContext(a id.Administrator) []byte { return []byte("totp " + a.String()) }

// newRecovery makes recovery codes of 75 random bits, and what is kept of them.
func newRecovery() (codes []string, hashes [][]byte) {
	for range recoveryCodes {
		code := grouped(3)
		codes = append(codes, code)
		hashes = append(hashes, recoveryHash(code))
	}
	return codes, hashes
}

// recoveryHash is what is kept of a recovery code, however it is typed.
func recoveryHash(code string) []byte {
	code = strings.NewReplacer("-", "", " ", "").Replace(strings.ToLower(code))
	sum := sha256.Sum256([]byte("recovery code " + code))
	return sum[:]
}
