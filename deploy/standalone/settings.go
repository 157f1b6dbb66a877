package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"reservation.dev/platform/config"
	"reservation.dev/platform/mtls"
	"reservation.dev/platform/service"
)

// Settings are the settings of the whole instance.
type Settings struct {
	Host        string        `env:"LISTEN_HOST" envDefault:"127.0.0.1" doc:"address on which the ports are opened"`
	PortBase    int           `env:"PORT_BASE" envDefault:"8080" doc:"first of the consecutive ports; docs/OPERATIONS.md has the order"`
	DataDir     string        `env:"DATA_DIR" envDefault:".run" doc:"directory for everything that is kept"`
	DatabaseURL config.Secret `env:"DATABASE_URL" doc:"URL of a PostgreSQL server and a role that may create roles and databases; empty: a private server"`
	DBPrefix    string        `env:"DATABASE_PREFIX" envDefault:"reservation_" doc:"prefix of the names of databases and roles"`
	Demo        string        `env:"DEMO" envDefault:"on" doc:"on: seed a demonstration company once; off: start empty"`
	LogLevel    string        `env:"LOG_LEVEL" envDefault:"warn" doc:"debug, info, warn or error"`
	LogFormat   string        `env:"LOG_FORMAT" envDefault:"text" doc:"json or text"`
	Stage       string        `env:"RESERVATION_ENV" envDefault:"development" doc:"development, or production, which refuses demonstration settings (docs/SECURITY.md)"`
}

// Validate reports every wrong setting.
func (s *Settings) Validate() error {
	var faults []error
	if s.PortBase < 1 || s.PortBase+lastPort > 65535 {
		faults = append(faults, fmt.Errorf("PORT_BASE must be between 1 and %d", 65535-lastPort))
	}
	if s.DataDir == "" {
		faults = append(faults, errors.New("DATA_DIR must not be empty"))
	}
	if s.Demo != "on" && s.Demo != "off" {
		faults = append(faults, errors.New("DEMO must be on or off"))
	}
	return errors.Join(append(faults, service.ValidateStage(s.Stage))...)
}

// credentialsPath is the file that tells how to reach the instance while it is ready.
func (s *Settings) credentialsPath() string { return filepath.Join(s.DataDir, "credentials.json") }

// Production reports what is for trying alone.
func (s *Settings) Production() error {
	if s.Demo == "on" {
		return errors.New("DEMO must be off in production: the demonstration company's owner has a password that is in a file")
	}
	return nil
}

// check reports, before anything is started, what the instance or a part of it must
// not be set to, and returns what only looks wrong. It serves gRPC without TLS: its parts call each
// other within the process.
func (in *instance) check() (warnings []string, err error) {
	faults := []error{}
	for _, name := range config.Names(&mtls.Config{}) {
		if in.env[name] != "" {
			faults = append(faults, fmt.Errorf("%s does not apply to standalone: run the parts as processes of their own", name))
		}
	}
	known := config.Names(in.settings)
	production := in.settings.Stage == service.Production
	if production {
		faults = append(faults, config.CheckProduction(in.env, in.settings))
	}
	for _, p := range parts() {
		env, err := in.partEnv(p.Name)
		if err != nil {
			return nil, err
		}
		env["DATABASE_URL"] = "postgres:///" // it is known once there is a server
		s := p.Settings()
		known = append(known, config.Names(s)...)
		faults = append(faults, config.Read(env, s))
		if production {
			faults = append(faults, config.CheckProduction(env, s))
		}
	}
	return config.Unknown(in.env, known), config.JoinFaults(faults...)
}
