package main

import (
	"errors"
	"fmt"

	"reservation.dev/platform/config"
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
	return errors.Join(faults...)
}
