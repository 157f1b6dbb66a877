package directory

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"time"

	"reservation.dev/platform/config"
	"reservation.dev/platform/service"
)

// Config holds the settings of the directory.
type Config struct {
	Cells     config.Secret `env:"CELLS,required" doc:"cells behind the router: a JSON list of {name, auth_addr, credential_id (svc_…), credential_secret}; the names are those in haproxy.cfg"`
	Maps      string        `env:"MAP_DIR,required" doc:"absolute path of the directory with companies.map and credentials.map, as in haproxy.cfg"`
	Socket    string        `env:"HAPROXY_SOCKET,required" doc:"absolute path of HAProxy's stats socket with the level admin"`
	Every     time.Duration `env:"DIRECTORY_INTERVAL" envDefault:"1s" doc:"how often each cell is asked for changes"`
	EveryFull time.Duration `env:"DIRECTORY_FULL_INTERVAL" envDefault:"5m" doc:"how often everything is read from each cell, which also removes what was deleted"`
}

// cell is a cell in the settings.
type cell struct {
	Name     string `json:"name"`
	AuthAddr string `json:"auth_addr"`
	ID       string `json:"credential_id"`
	Secret   string `json:"credential_secret"`
}

const maxCells = 100

var cellName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,30}$`)

// parseCells reads and checks the setting CELLS.
func parseCells(text config.Secret) ([]cell, error) {
	var cells []cell
	if err := json.Unmarshal([]byte(text.Reveal()), &cells); err != nil {
		return nil, errors.New("CELLS is not a JSON list of {name, auth_addr, credential_id, credential_secret}")
	}
	if len(cells) == 0 || len(cells) > maxCells {
		return nil, fmt.Errorf("CELLS has %d cells; it must have 1 to %d", len(cells), maxCells)
	}
	var faults []error
	names := map[string]bool{}
	for i, c := range cells {
		fault := func(what string) { faults = append(faults, fmt.Errorf("CELLS[%d]: %s", i, what)) }
		switch {
		case !cellName.MatchString(c.Name):
			fault("name must be a lower-case letter and at most 30 lower-case letters, digits and hyphens")
		case names[c.Name]:
			fault("name is that of another cell")
		}
		names[c.Name] = true
		if c.AuthAddr == "" {
			fault("auth_addr is missing")
		}
		if c.ID == "" || c.Secret == "" {
			fault("credential_id and credential_secret are required")
		} else if err := (service.Credential{ID: c.ID, Secret: config.Secret(c.Secret)}).Validate(); err != nil {
			fault("credential_id must be a svc_ identifier, and credential_secret must have 64 hexadecimal characters")
		}
	}
	return cells, errors.Join(faults...)
}

// Validate reports every invalid setting.
func (c *Config) Validate() error {
	var faults []error
	if c.Cells != "" {
		_, err := parseCells(c.Cells)
		faults = append(faults, err)
	}
	for name, path := range map[string]string{"MAP_DIR": c.Maps, "HAPROXY_SOCKET": c.Socket} {
		if path != "" && !filepath.IsAbs(path) {
			faults = append(faults, fmt.Errorf("%s must be an absolute path", name))
		}
	}
	if c.Every < 100*time.Millisecond || c.Every > time.Minute {
		faults = append(faults, errors.New("DIRECTORY_INTERVAL must be between 100ms and 1m"))
	}
	if c.EveryFull < c.Every || c.EveryFull > 24*time.Hour {
		faults = append(faults, errors.New("DIRECTORY_FULL_INTERVAL must be between DIRECTORY_INTERVAL and 24h"))
	}
	return errors.Join(faults...)
}
