package config_test

import (
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reservation.dev/platform/config"
)

func TestIsPublished(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../deploy/compose/secrets/*")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d secrets, %v", len(files), err)
	}
	for _, file := range files {
		t.Run("recognises the published secret "+filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !config.IsPublished(string(text)) {
				t.Errorf("%s is not recognised", text)
			}
		})
	}
	for what, value := range map[string]string{
		"a password":                            "insecure-key-of-thirty-two-bytes",
		"a password in a URL":                   "postgres://booking:insecure-password@db/booking",
		"a password escaped in a URL":           "postgres://booking:insecure%2Dpassword@db/booking",
		"a password in capitals":                "INSECURE-PASSWORD",
		"a password followed by a percent sign": "insecure-100%",
		"the second of two keys":                strings.Repeat("A", 43) + "=,aW5zZWN1cmUta2V5LW9mLXRoaXJ0eS10d28tYnl0ZXM=",
		"the secret of a credential":            "e845d185a088498e6b5925cc8e6335d271d1f6c826dbfa80ee1026af6b3facd1",
	} {
		t.Run("recognises "+what, func(t *testing.T) {
			t.Parallel()
			if !config.IsPublished(value) {
				t.Errorf("%s is not recognised", value)
			}
		})
	}
	for _, value := range []string{
		"", "secure-password", "postgres://booking:p%40ss@db/booking", "100%", base64.StdEncoding.EncodeToString(make([]byte, 32)),
		strings.Repeat("0f", 32), "nats://insecure:4222",
	} {
		t.Run("accepts "+value, func(t *testing.T) {
			t.Parallel()
			if config.IsPublished(value) {
				t.Error("it was recognised as a published secret")
			}
		})
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
	t.Run("reports each demonstration setting by name and shows no secret", func(t *testing.T) {
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
		for _, want := range []string{"TRIED_URL contains", "TRIED_KEY contains", "TRIED_OPEN must not be yes"} {
			if err == nil || strings.Count(err.Error(), want) != 1 {
				t.Errorf("%v does not contain %q once", err, want)
			}
		}
		if err != nil && (strings.Contains(err.Error(), "insecure-password") || strings.Contains(err.Error(), "insecure-key")) {
			t.Errorf("a secret is shown: %v", err)
		}
	})
	t.Run("accepts settings without published secrets", func(t *testing.T) {
		t.Parallel()
		e := config.Env{"TRIED_URL": "https://y", "TRIED_KEY": "k7Qp"}
		var s tried
		if err := errors.Join(config.Read(e, &s), config.CheckProduction(e, &s)); err != nil {
			t.Fatal(err)
		}
	})
}

func TestUnknown(t *testing.T) {
	t.Parallel()
	known := []string{"WEBHOOK_TIMEOUT", "WEBHOOK_BREAKER_PAUSE", "DATABASE_URL", "AUTH_ADDR", "HTTP_ADDR", "RESERVATION_ENV", "MASTER_KEY", "DEMO", "MEDIA_URL", "WEBHOOK_CA_FILE"}
	e := config.Env{
		"WEBHOOK_TIMOUT": "1s", "WEBHOOK_BREAKR_PAUSE": "1s", "WEBHOOK_SERVICE_HOSTS": "x", "DATABASE_ULR_FILE": "/x", "DATABASE_SIZE": "1", "RESERVATION_EVN": "production", // misspelt settings
		"WEBHOOK_TIMEOUT": "1s", "MASTER_KEY_FILE": "/k", "WEBHOOK_CA_FILE": "/c", "WEBHOOK_CA": "content of /c", // settings
		"PATH": "/bin", "HOME": "/", "HTTP_PROXY": "x", "RESERVATION_CREDENTIALS": "x", "WEBHOOK_ADDR": "x", "BASE_ADDR": "x", "DATABASE_ADDER": "", "AUTH_PORT": "x", "MEDIA_BUCKET": "x",
		"WEBHOOK_SERVICE_HOST": "x", "WEBHOOK_SERVICE_PORT": "1", "WEBHOOK_SERVICE_PORT_GRPC": "1", "WEBHOOK_PORT": "x", "WEBHOOK_PORT_9000_TCP_PROTO": "x", // variables of other programs, or empty
	}
	want := []string{
		"DATABASE_SIZE is not a known setting; check the spelling", "DATABASE_ULR_FILE is not a known setting; check the spelling", "RESERVATION_EVN is not a known setting; check the spelling",
		"WEBHOOK_BREAKR_PAUSE is not a known setting; check the spelling", "WEBHOOK_SERVICE_HOSTS is not a known setting; check the spelling", "WEBHOOK_TIMOUT is not a known setting; check the spelling",
	}
	if diff := cmp.Diff(want, config.Unknown(e, known)); diff != "" {
		t.Error(diff)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	want := []string{"ADDR", "KEY", "SECTION_SIZE", "TIMEOUT"}
	if got := config.Names(&settings{}, &section{}); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
