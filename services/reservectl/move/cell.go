package move

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"reservation.dev/platform/bus"
)

// Services returns the services with a database.
func Services() []string {
	return []string{"auth", "booking", "customer", "media", "pass", "reports", "subscription", "webhook"}
}

// authService is the service whose database has the decision (invariant 1).
const authService = "auth"

// Cell is an installation.
type Cell struct {
	Name string `json:"-"`
	// Databases has the URL of each service's database, with a superuser.
	Databases map[string]string `json:"databases"`
	// ReachableAs has the URLs at which the other cell's PostgreSQL server reaches the databases, if they
	// differ from Databases.
	ReachableAs map[string]string `json:"reachable_as"`
	NATS        NATS              `json:"nats"`
	// Credentials is the path of the cell's credentials.json.
	Credentials string `json:"credentials"`
	// Bucket is the URL of the bucket of the media service (MEDIA_BUCKET).
	Bucket string `json:"bucket"`
}

// NATS has the settings of a connection to NATS, as a service has them.
type NATS struct {
	URL             string `json:"url"`
	Prefix          string `json:"prefix"`
	CAFile          string `json:"ca_file"`
	CertFile        string `json:"cert_file"`
	KeyFile         string `json:"key_file"`
	CredentialsFile string `json:"credentials_file"`
}

func (n NATS) config() bus.Config {
	return bus.Config{URL: n.URL, Prefix: n.Prefix, Security: bus.Security{
		CAFile: n.CAFile, CertFile: n.CertFile, KeyFile: n.KeyFile, CredentialsFile: n.CredentialsFile,
	}}
}

// reachableAs returns the URL of a service's database for the other cell's server.
func (c *Cell) reachableAs(service string) string {
	if address := c.ReachableAs[service]; address != "" {
		return address
	}
	return c.Databases[service]
}

// Cells are the installations of a file, by name.
type Cells map[string]*Cell

const (
	maxFile  = 1 << 20
	maxCells = 1000
	// fromEnvironment precedes the name of a variable that has a value of the file.
	fromEnvironment = "env:"
)

var cellName = regexp.MustCompile(`^[a-z0-9][a-z0-9_.-]{0,62}$`)

// ReadCells reads the file that names the cells. A value "env:NAME" is that of the environment variable. Errors
// name the wrong members, and do not show their values.
func ReadCells(path string, getenv func(string) string) (Cells, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cells: %w", err)
	}
	defer f.Close()
	d := json.NewDecoder(io.LimitReader(f, maxFile))
	d.DisallowUnknownFields()
	var file struct {
		Cells Cells `json:"cells"`
	}
	if err := d.Decode(&file); err != nil {
		return nil, fmt.Errorf("cells: %s is not a file of cells: %w", path, err)
	}
	var faults []error
	if len(file.Cells) > maxCells {
		return nil, fmt.Errorf("cells: the file has %d cells; use at most %d", len(file.Cells), maxCells)
	}
	for name, c := range file.Cells {
		if c == nil || !cellName.MatchString(name) {
			faults = append(faults, fmt.Errorf("%q: a name has 1 to 63 lower-case letters, digits, dots, - and _, and its cell is an object", name))
			continue
		}
		c.Name = name
		faults = append(faults, c.resolve(getenv)...)
	}
	if err := errors.Join(faults...); err != nil {
		return nil, fmt.Errorf("cells: %w", err)
	}
	return file.Cells, nil
}

// resolve replaces references to the environment.
func (c *Cell) resolve(getenv func(string) string) (faults []error) {
	replace := func(member, value string) string {
		name, ok := strings.CutPrefix(value, fromEnvironment)
		if !ok {
			return value
		}
		if value = getenv(name); value == "" {
			faults = append(faults, fmt.Errorf("%s.%s: the environment variable %s is not set", c.Name, member, name))
		}
		return value
	}
	for member, urls := range map[string]map[string]string{"databases": c.Databases, "reachable_as": c.ReachableAs} {
		for service, value := range urls {
			urls[service] = replace(member+"."+service, value)
			if !slices.Contains(Services(), service) {
				faults = append(faults, fmt.Errorf("%s.%s: there is no service %q", c.Name, member, service))
			}
		}
	}
	c.NATS.URL, c.Credentials, c.Bucket = replace("nats.url", c.NATS.URL), replace("credentials", c.Credentials), replace("bucket", c.Bucket)
	return faults
}

// validate returns what is missing for a move.
func (c *Cell) validate() error {
	var faults []error
	for _, service := range Services() {
		u, err := url.Parse(c.Databases[service])
		if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" || u.Path == "" || u.Path == "/" {
			faults = append(faults, fmt.Errorf("%s.databases.%s: must be a URL like postgres://user:password@host:5432/database", c.Name, service))
		}
	}
	for member, value := range map[string]string{"nats.url": c.NATS.URL, "credentials": c.Credentials, "bucket": c.Bucket} {
		if value == "" {
			faults = append(faults, fmt.Errorf("%s.%s: is required", c.Name, member))
		}
	}
	slices.SortFunc(faults, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(faults...)
}

// Find returns the cell with a name.
func (c Cells) Find(name string) (*Cell, error) {
	if cell := c[name]; cell != nil {
		return cell, cell.validate()
	}
	return nil, fmt.Errorf("the file has no cell %q; it has %s", name, strings.Join(slices.Sorted(maps.Keys(c)), ", "))
}
