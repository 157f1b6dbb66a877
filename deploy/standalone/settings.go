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
	Host        string        `env:"LISTEN_HOST" envDefault:"127.0.0.1" doc:"address to listen on"`
	PortBase    int           `env:"PORT_BASE" envDefault:"8080" doc:"first port; the other ports follow it in the order of docs/OPERATIONS.md"`
	DataDir     string        `env:"DATA_DIR" envDefault:".run" doc:"directory of all data"`
	DatabaseURL config.Secret `env:"DATABASE_URL" doc:"URL of a PostgreSQL server, with a role that can create roles and databases; empty: a private server"`
	DBPrefix    string        `env:"DATABASE_PREFIX" envDefault:"reservation_" doc:"prefix of the names of databases and roles"`
	NATSPort    int           `env:"NATS_PORT" envDefault:"0" doc:"port on 127.0.0.1 of the NATS server inside, for reservectl company move; 0: it listens on none"`
	Demo        string        `env:"DEMO" envDefault:"on" doc:"on: create the demonstration company once; off: start empty"`
	LogLevel    string        `env:"LOG_LEVEL" envDefault:"warn" doc:"debug, info, warn or error"`
	LogFormat   string        `env:"LOG_FORMAT" envDefault:"text" doc:"json or text"`
	Stage       string        `env:"RESERVATION_ENV" envDefault:"development" doc:"development, or production, which refuses demonstration settings (docs/SECURITY.md)"`
}

// Validate reports all wrong settings.
func (s *Settings) Validate() error {
	var faults []error
	if s.PortBase < 1 || s.PortBase+lastPort > 65535 {
		faults = append(faults, fmt.Errorf("PORT_BASE must be between 1 and %d", 65535-lastPort))
	}
	if s.NATSPort < 0 || s.NATSPort > 65535 {
		faults = append(faults, errors.New("NATS_PORT must be 0 to 65535"))
	}
	if s.DataDir == "" {
		faults = append(faults, errors.New("DATA_DIR must not be empty"))
	}
	if s.Demo != "on" && s.Demo != "off" {
		faults = append(faults, errors.New("DEMO must be on or off"))
	}
	return errors.Join(append(faults, service.ValidateStage(s.Stage))...)
}

// credentialsPath returns the path of credentials.json.
func (s *Settings) credentialsPath() string { return filepath.Join(s.DataDir, "credentials.json") }

// Production reports settings that are for demonstrations only.
func (s *Settings) Production() error {
	if s.Demo == "on" {
		return errors.New("DEMO must be off in production: the password of the demonstration company's owner is in a file")
	}
	return nil
}

// check checks the settings of the instance and of all services before anything is started. It
// returns warnings about settings that only look wrong. Settings of gRPC's TLS are refused, because
// the services call each other within the process.
func (in *instance) check() (warnings []string, err error) {
	faults := []error{}
	for _, name := range config.Names(&mtls.Config{}) {
		if in.env[name] != "" {
			faults = append(faults, fmt.Errorf("%s does not apply to standalone: to use it, run the services as separate processes", name))
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
		env["DATABASE_URL"] = "postgres:///" // a placeholder: the URL is known once the server runs
		s := p.Settings()
		known = append(known, config.Names(s)...)
		faults = append(faults, config.Read(env, s))
		if production {
			faults = append(faults, config.CheckProduction(env, s))
		}
	}
	return config.Unknown(in.env, known), config.JoinFaults(faults...)
}
