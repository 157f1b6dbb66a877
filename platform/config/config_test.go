package config_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"reservation.dev/platform/config"
)

type section struct {
	Size int `env:"SECTION_SIZE" envDefault:"8"`
}

func (s section) Validate() error {
	if s.Size < 1 {
		return errors.New("SECTION_SIZE is below 1")
	}
	return nil
}

type settings struct {
	Addr    string        `env:"ADDR" envDefault:"127.0.0.1:1"`
	Timeout time.Duration `env:"TIMEOUT" envDefault:"5s"`
	Key     config.Secret `env:"KEY,required"`
	Section section
}

func (s *settings) Validate() error {
	if s.Timeout <= 0 {
		return errors.New("TIMEOUT is not positive")
	}
	return nil
}

type promoted struct{ section }

// Embedded has a section whose Validate is promoted.
type embedded struct {
	promoted
	Section section
}

func TestRead(t *testing.T) {
	t.Parallel()
	t.Run("a missing setting gets its default", func(t *testing.T) {
		t.Parallel()
		var s settings
		if err := config.Read(config.Env{"KEY": "k"}, &s); err != nil {
			t.Fatal(err)
		}
		want := settings{Addr: "127.0.0.1:1", Timeout: 5 * time.Second, Key: "k", Section: section{Size: 8}}
		if s != want {
			t.Fatalf("got %+v, want %+v", s, want)
		}
	})
	t.Run("an empty variable counts as not set", func(t *testing.T) {
		t.Parallel()
		var s settings
		err := config.Read(config.Env{"KEY": "", "TIMEOUT": "", "SECTION_SIZE": ""}, &s)
		if err == nil || !strings.Contains(err.Error(), "KEY") {
			t.Fatalf("an empty required setting gives %v", err)
		}
		if s.Timeout != 5*time.Second || s.Section.Size != 8 {
			t.Fatalf("empty settings lost their defaults: %+v", s)
		}
	})
	t.Run("reports all faults together, including those of sections", func(t *testing.T) {
		t.Parallel()
		var s settings
		err := config.Read(config.Env{"TIMEOUT": "-1s", "SECTION_SIZE": "0"}, &s)
		for _, want := range []string{"KEY", "TIMEOUT is not positive", "SECTION_SIZE is below 1"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v does not contain %q", err, want)
			}
		}
	})
	t.Run("reports a value of the wrong type with its variable's name", func(t *testing.T) {
		t.Parallel()
		var s settings
		err := config.Read(config.Env{"KEY": "k", "SECTION_SIZE": "many"}, &s)
		if err == nil || err.Error() != "settings:\n  SECTION_SIZE is \"many\"; it must be a whole number" {
			t.Fatalf("got %v", err)
		}
	})
	t.Run("lists a fault once even if it is found twice", func(t *testing.T) {
		t.Parallel()
		var s embedded
		err := config.Read(config.Env{"SECTION_SIZE": "-1"}, &s)
		if err == nil || strings.Count(err.Error(), "SECTION_SIZE is below 1") != 1 {
			t.Fatalf("got %v", err)
		}
	})
}

// same has two fields of one name in different sections.
type same struct {
	A struct {
		Wait time.Duration `env:"A_WAIT" envDefault:"1s"`
	}
	B struct {
		Wait []time.Duration `env:"B_WAIT" envDefault:"1s"`
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	t.Run("distinguishes fields of the same name in different sections", func(t *testing.T) {
		t.Parallel()
		err := config.Read(config.Env{"A_WAIT": "2s", "B_WAIT": "2s,soon"}, &same{})
		if err == nil || strings.Contains(err.Error(), "A_WAIT") || !strings.Contains(err.Error(), `B_WAIT is "2s,soon"; it must be a duration`) {
			t.Fatalf("got %v", err)
		}
	})
	for _, text := range []string{"5s,,1m", "5s,", ","} {
		t.Run("rejects a list of durations with an empty item: "+text, func(t *testing.T) {
			t.Parallel()
			err := config.Read(config.Env{"B_WAIT": text}, &same{})
			if err == nil || !strings.Contains(err.Error(), "B_WAIT is \""+text+"\"; it must be a duration") {
				t.Fatalf("got %v", err)
			}
		})
	}
	t.Run("joins the faults of several structs without duplicates, including nested joins", func(t *testing.T) {
		t.Parallel()
		cause := errors.New("X is wrong")
		err := config.JoinFaults(nil, config.Read(config.Env{"SECTION_SIZE": "0"}, &section{}),
			errors.Join(cause, errors.Join(errors.New("SECTION_SIZE is below 1"))))
		if err == nil || err.Error() != "settings:\n  SECTION_SIZE is below 1\n  X is wrong" || !errors.Is(err, cause) {
			t.Fatalf("got %v", err)
		}
	})
	t.Run("returns nil without faults", func(t *testing.T) {
		t.Parallel()
		if err := config.JoinFaults(nil, errors.Join(nil, nil)); err != nil {
			t.Fatal(err)
		}
	})
}

func TestFiles(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("from the file\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Run("NAME_FILE sets NAME to the content of the file without the last line break", func(t *testing.T) {
		t.Parallel()
		var s settings
		if err := config.Read(config.Env{"KEY_FILE": file}, &s); err != nil {
			t.Fatal(err)
		}
		if s.Key.Reveal() != "from the file" {
			t.Fatalf("got %q", s.Key.Reveal())
		}
	})
	t.Run("NAME wins over NAME_FILE", func(t *testing.T) {
		t.Parallel()
		var s settings
		if err := config.Read(config.Env{"KEY": "direct", "KEY_FILE": file}, &s); err != nil {
			t.Fatal(err)
		}
		if s.Key.Reveal() != "direct" {
			t.Fatalf("got %q", s.Key.Reveal())
		}
	})
	t.Run("an unreadable file is a fault only if it belongs to a setting", func(t *testing.T) {
		t.Parallel()
		var s settings
		err := config.Read(config.Env{"ADDR_FILE": "/nowhere/addr", "KEY": "k"}, &s)
		if err == nil || !strings.Contains(err.Error(), "ADDR_FILE") {
			t.Fatalf("got %v", err)
		}
		if err := config.Read(config.Env{"STRANGER_FILE": "/nowhere", "KEY": "k"}, &s); err != nil {
			t.Fatal(err)
		}
	})
}

func TestOS(t *testing.T) {
	file := filepath.Join(t.TempDir(), "value")
	if err := os.WriteFile(file, []byte("mounted\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CONFIG_TEST_A_FILE", file)
	t.Setenv("CONFIG_TEST_B", "kept")
	t.Setenv("CONFIG_TEST_B_FILE", file)
	t.Setenv("CONFIG_TEST_C_FILE", filepath.Join(t.TempDir(), "missing"))
	e := config.OS()
	if _, there := e["CONFIG_TEST_B_FILE"]; there {
		t.Error("NAME_FILE is still set although NAME wins")
	}
	if e["CONFIG_TEST_A"] != "mounted" || e["CONFIG_TEST_B"] != "kept" {
		t.Fatalf("got A %q, B %q", e["CONFIG_TEST_A"], e["CONFIG_TEST_B"])
	}
	if _, there := e["CONFIG_TEST_C"]; there {
		t.Fatal("an unreadable file gave a value")
	}
}

func TestSecret(t *testing.T) {
	t.Parallel()
	const plain = "hunter2"
	s := config.Secret(plain)
	holder := struct{ Key config.Secret }{s}

	t.Run("no verb, encoder or logger shows the secret", func(t *testing.T) {
		t.Parallel()
		shown := []string{s.String()}
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%o", "%10s"} {
			shown = append(shown, fmt.Sprintf(verb, s), fmt.Sprintf(verb, &s), fmt.Sprintf(verb, holder))
		}
		asJSON, err := json.Marshal(holder)
		if err != nil {
			t.Fatal(err)
		}
		var logged bytes.Buffer
		for _, h := range []slog.Handler{slog.NewJSONHandler(&logged, nil), slog.NewTextHandler(&logged, nil)} {
			slog.New(h).Info("settings", "key", s, "all", holder)
		}
		shown = append(shown, string(asJSON), logged.String())
		for _, text := range shown {
			if strings.Contains(text, plain) || strings.Contains(strings.ToLower(text), fmt.Sprintf("%x", plain)) {
				t.Errorf("the secret is shown: %s", text)
			}
		}
	})
	t.Run("an empty secret prints as an empty string", func(t *testing.T) {
		t.Parallel()
		if got := fmt.Sprint(config.Secret("")); got != "" {
			t.Fatalf("got %q", got)
		}
	})
	t.Run("Reveal returns the secret", func(t *testing.T) {
		t.Parallel()
		if s.Reveal() != plain {
			t.Fatal(s.Reveal())
		}
	})
}
