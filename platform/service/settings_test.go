package service

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"reservation.dev/platform/config"
	"reservation.dev/platform/pg"
)

func sampleDB(r *running) pg.Config { return pg.Config{URL: config.Secret(r.env["DATABASE_URL"])} }

type peer struct {
	Addr string `env:"ADDR" envDefault:"127.0.0.1:1" doc:"address of the peer"`
}

type allSettings struct {
	Base
	Credential Credential
	Peer       peer          `envPrefix:"PEER_"`
	Key        config.Secret `env:"KEY" envDefault:"hunter2" doc:"a key"`
	Words      []string      `env:"WORDS,required" doc:"some words"`
	internal   string        //nolint:unused // a field without a tag is ignored
}

func TestSettings(t *testing.T) {
	got := map[string]config.Setting{}
	var names []string
	for _, s := range config.Settings(&allSettings{}) {
		got[s.Name] = s
		names = append(names, s.Name)
		if s.About == "" {
			t.Errorf("%s has no description", s.Name)
		}
	}
	for name, want := range map[string]config.Setting{
		"GRPC_ADDR":             {Default: "127.0.0.1:9090"},
		"SHUTDOWN_DRAIN":        {Default: "10s"},
		"DATABASE_MAX_CONNS":    {Default: "8"},
		"BUS_PREFIX":            {Default: "reservation"},
		"TOKEN_ISSUER":          {Default: "reservation"},
		"SERVICE_CREDENTIAL_ID": {Required: true},
		"PEER_ADDR":             {Default: "127.0.0.1:1"},
		"KEY":                   {Default: "***"},
		"WORDS":                 {Required: true},
	} {
		s, ok := got[name]
		if !ok || s.Default != want.Default || s.Required != want.Required {
			t.Errorf("%s: got %+v, want %+v", name, s, want)
		}
	}
	if slices.Index(names, "GRPC_ADDR") > slices.Index(names, "PEER_ADDR") {
		t.Errorf("not in the order of the fields: %v", names)
	}
	slices.Sort(names)
	if len(slices.Compact(slices.Clone(names))) != len(names) || slices.Contains(names, "") {
		t.Errorf("%v", names)
	}
}

func TestPrintSettings(t *testing.T) {
	t.Run("lists each setting with its description and shows no secret", func(t *testing.T) {
		var out bytes.Buffer
		if err := PrintSettings(&out, &allSettings{}); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if len(lines) != len(config.Settings(allSettings{}))+1 {
			t.Errorf("%d lines:\n%s", len(lines), &out)
		}
		find := func(name string) string {
			i := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, name+" ") })
			if i < 0 {
				t.Fatalf("no %s in\n%s", name, &out)
			}
			return lines[i]
		}
		if line := find("SERVICE_CREDENTIAL_SECRET"); !strings.Contains(line, "(required)") || !strings.Contains(line, "secret of SERVICE_CREDENTIAL_ID") {
			t.Errorf("%q", line)
		}
		if line := find("KEY"); !strings.Contains(line, "***") || strings.Contains(out.String(), "hunter2") {
			t.Errorf("%q", line)
		}
	})
	t.Run("lists the settings of process, service and migrations, and no current value", func(t *testing.T) {
		t.Setenv("DATABASE_URL", "postgres://user:hunter2@db/x")
		var out bytes.Buffer
		if err := run(t.Context(), newSample().part(), "settings", &out); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"LOG_LEVEL", "ADMIN_ADDR", "DATABASE_URL", "NATS_URL", "MIGRATION_DATABASE_URL"} {
			if !strings.Contains(out.String(), "\n"+name+" ") {
				t.Errorf("no %s in\n%s", name, &out)
			}
		}
		if strings.Contains(out.String(), "hunter2") {
			t.Errorf("%s", &out)
		}
		out.Reset()
		if err := run(t.Context(), Part{Name: "x"}, "settings", &out); err != nil || strings.Contains(out.String(), "DATABASE") {
			t.Errorf("a service without a database: %v\n%s", err, &out)
		}
	})
}

func TestAllWrongSettingsAreReportedTogether(t *testing.T) {
	p := newSample().part()
	p.Run = func(context.Context, *Host) error { t.Error("it ran"); return nil }
	err := serve(t.Context(), p, config.Env{
		"LOG_LEVEL": "loud", "SHUTDOWN_DRAIN": "soon", "DATABASE_MAX_CONNS": "-1", "BUS_REPLICAS": "7", "TOKEN_CACHE_SIZE": "many",
	})
	for _, want := range []string{"LOG_LEVEL", "SHUTDOWN_DRAIN is", "DATABASE_URL", "DATABASE_MAX_CONNS", "BUS_REPLICAS", "TOKEN_CACHE_SIZE is"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %s in: %v", want, err)
		}
	}
	if ExitCode(err) != exitSettings || ExitCode(errors.New("boom")) != 1 {
		t.Errorf("the exit codes are %d and %d", ExitCode(err), ExitCode(errors.New("boom")))
	}
	err = serve(t.Context(), p, config.Env{"LOG_FORMAT": "xml", "SHUTDOWN_DRAIN": "-1s", "DATABASE_URL": "postgres://user:hunter2@db/x"})
	if err == nil || !strings.Contains(err.Error(), "LOG_FORMAT") || !strings.Contains(err.Error(), "SHUTDOWN_DRAIN must") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
}
