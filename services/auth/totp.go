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
	// totpPeriod and the number of digits are what every authenticator app assumes.
	totpPeriod = 30 * time.Second
	// totpSkew is the number of periods by which a phone's clock may differ.
	totpSkew = 1
	// totpSecretBytes is the length that RFC 4226 recommends.
	totpSecretBytes = 20
	recoveryCodes   = 10
)

// newTotp creates a TOTP secret for an administrator of a company.
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
	// Apps read a plus sign literally, not as a space.
	return "otpauth://totp/" + url.PathEscape(issuer+":"+email) + "?" + strings.ReplaceAll(query.Encode(), "+", "%20")
}

// totpStep returns the period of a code: the current one or a neighbour. It returns 0 if the code
// is not valid, or not from a later period than last.
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

// newRecovery creates recovery codes of 75 random bits, and returns their hashes too.
func newRecovery() (codes []string, hashes [][]byte) {
	for range recoveryCodes {
		code := grouped(3)
		codes = append(codes, code)
		hashes = append(hashes, recoveryHash(code))
	}
	return codes, hashes
}

// recoveryHash returns the stored form of a recovery code, in whichever form it is typed.
func recoveryHash(code string) []byte {
	code = strings.NewReplacer("-", "", " ", "").Replace(strings.ToLower(code))
	sum := sha256.Sum256([]byte("recovery code " + code))
	return sum[:]
}
