package config_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"

	"reservation.dev/platform/config"
)

func TestIsInsecure(t *testing.T) {
	t.Parallel()
	const plain = "insecure-key-of-thirty-two-bytes"
	asJSON, err := json.Marshal([]map[string]string{{"id": "svc_1", "secret": hex.EncodeToString([]byte(plain))}})
	if err != nil {
		t.Fatal(err)
	}
	for what, value := range map[string]string{
		"as it stands":                   plain,
		"in capitals":                    "INSECURE-PASSWORD",
		"in a URL":                       "postgres://booking:insecure-password@db/booking",
		"escaped in a URL":               "postgres://booking:" + strings.ReplaceAll(url.QueryEscape(plain), "-", "%2D") + "@db/booking",
		"in base64":                      base64.StdEncoding.EncodeToString([]byte(plain)),
		"in base64 for URLs":             base64.URLEncoding.EncodeToString([]byte(plain)),
		"the second of two in base64":    base64.StdEncoding.EncodeToString(make([]byte, 32)) + "," + base64.StdEncoding.EncodeToString([]byte(plain)),
		"in hexadecimal within JSON":     string(asJSON),
		"not at the beginning of base64": base64.RawStdEncoding.EncodeToString([]byte("an " + plain)),
	} {
		if !config.IsInsecure(value) {
			t.Errorf("%s it is not found: %s", what, value)
		}
	}
	for _, value := range []string{
		"", "secure-password", "postgres://booking:p%40ss@db/booking", "100%", base64.StdEncoding.EncodeToString(make([]byte, 32)),
		strings.Repeat("0f", 32), "nats://insecure:4222",
	} {
		if config.IsInsecure(value) {
			t.Errorf("%q is taken for a secret for trying", value)
		}
	}
}

type tried struct {
	URL string        `env:"TRIED_URL"`
	Key config.Secret `env:"TRIED_KEY"`
}

type trial struct {
	Open string `env:"TRIED_OPEN" envDefault:"no"`
}

func (t trial) Production() error {
	if t.Open == "yes" {
		return errors.New("TRIED_OPEN must not be yes")
	}
	return nil
}

func TestCheckProduction(t *testing.T) {
	t.Parallel()
	t.Run("all that is for trying is told by name, and no secret", func(t *testing.T) {
		t.Parallel()
		e := config.Env{"TRIED_URL": "http://x:insecure-password@y", "TRIED_KEY": "insecure-key", "TRIED_OPEN": "yes"}
		var s struct {
			Tried tried
			Trial trial
		}
		if err := config.Read(e, &s); err != nil {
			t.Fatal(err)
		}
		err := config.CheckProduction(e, &s)
		for _, want := range []string{"TRIED_URL holds", "TRIED_KEY holds", "TRIED_OPEN must not be yes"} {
			if err == nil || strings.Count(err.Error(), want) != 1 {
				t.Errorf("%v does not say once %q", err, want)
			}
		}
		if err != nil && (strings.Contains(err.Error(), "insecure-password") || strings.Contains(err.Error(), "insecure-key")) {
			t.Errorf("a secret is shown: %v", err)
		}
	})
	t.Run("what is meant seriously passes", func(t *testing.T) {
		t.Parallel()
		e := config.Env{"TRIED_URL": "https://y", "TRIED_KEY": "k7Qp"}
		var s tried
		if err := errors.Join(config.Read(e, &s), config.CheckProduction(e, &s)); err != nil {
			t.Fatal(err)
		}
	})
}

func TestMisspelt(t *testing.T) {
	t.Parallel()
	known := []string{"WEBHOOK_TIMEOUT", "WEBHOOK_RETRIES", "DATABASE_URL", "AUTH_ADDR", "HTTP_ADDR", "MASTER_KEY"}
	e := config.Env{
		"WEBHOOK_TIMOUT": "1s", "DATABASE_ULR_FILE": "/x", "MASTERKEY": "k", // slips
		"WEBHOOK_TIMEOUT": "1s", "MASTER_KEY_FILE": "/k", // right
		"PATH": "/bin", "HOME": "/", "BASE_ADDR": "x", "DATABASE_SIZE": "1", "AUTH_ADDER": "", // nobody's business, or empty
	}
	want := []string{
		"DATABASE_ULR_FILE is no setting; did you mean DATABASE_URL_FILE?",
		"MASTERKEY is no setting; did you mean MASTER_KEY?",
		"WEBHOOK_TIMOUT is no setting; did you mean WEBHOOK_TIMEOUT?",
	}
	if got := config.Misspelt(e, known); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	want := []string{"ADDR", "KEY", "SECTION_SIZE", "TIMEOUT"}
	if got := config.Names(&settings{}, &section{}); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
