package compose

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"reservation.dev/test/harness"
)

// replacement is an image that replaces a published one.
type replacement struct {
	name  string
	setup []string // as in a Dockerfile: "ENV A=b"
	stop  string   // its stop signal; "": SIGTERM
	fill  func(t *testing.T, r *rootfs)
}

// replacements returns the replacements of the images that docker-compose.yml and deploy/Dockerfile
// name, except those of the observers.
func replacements(t *testing.T) []replacement {
	compose, dockerfile := harness.File(t, "docker-compose.yml"), harness.File(t, "deploy/Dockerfile")
	return []replacement{
		{
			name:  "golang:" + found(t, dockerfile, `(?m)^ARG GO_VERSION=(\S+)$`) + "-bookworm",
			setup: []string{"ENV PATH=/usr/local/go/bin:/bin", "ENV GOPATH=/go", "ENV GOPROXY=file:///modules", "ENV GOSUMDB=off", "ENV HOME=/root"},
			fill:  fillGo,
		},
		{
			name:  found(t, compose, `POSTGRES_IMAGE:-([^}]+)`),
			setup: []string{"ENV PATH=/usr/lib/postgresql/15/bin:/bin", `ENTRYPOINT ["/entrypoint.sh"]`, `CMD ["postgres"]`},
			stop:  "SIGINT",
			fill:  fillPostgres,
		},
		{
			name:  found(t, compose, `NATS_IMAGE:-([^}]+)`),
			setup: []string{"ENV PATH=/usr/local/bin:/bin", `ENTRYPOINT ["/entrypoint.sh"]`, `CMD ["nats-server"]`},
			fill: func(t *testing.T, r *rootfs) {
				r.base("nats", 1000)
				r.file("/usr/local/bin/nats-server", tool(t, "nats-server"))
				r.text("/entrypoint.sh", 0o755, natsEntrypoint)
			},
		},
		{
			name:  found(t, compose, `PROXY_IMAGE:-([^}]+)`),
			setup: []string{"ENV PATH=/usr/local/sbin:/bin", "USER 99", `CMD ["haproxy", "-W", "-db", "-f", "/usr/local/etc/haproxy/haproxy.cfg"]`},
			fill: func(_ *testing.T, r *rootfs) {
				r.base("haproxy", 99)
				r.program("/usr/local/sbin/haproxy", "/usr/sbin/haproxy")
			},
		},
	}
}

// make builds an image.
func (d *docker) make(t *testing.T, s replacement) {
	t.Helper()
	pipe, w := io.Pipe()
	go func() {
		r := newRootfs(w)
		s.fill(t, r)
		_ = w.CloseWithError(r.close()) // never fails
	}()
	command := []string{"docker", "import"}
	for _, line := range s.setup {
		command = append(command, "--change", line)
	}
	ctx, cancel := context.WithTimeout(t.Context(), commandLimit)
	defer cancel()
	if _, err := d.tryFrom(ctx, pipe, nil, append(command, "-", s.name)...); err != nil {
		t.Fatal(err)
	}
	if s.stop != "" { // docker import cannot set it, and BuildKit would need a plugin
		dockerfile := strings.NewReader("FROM " + s.name + "\nSTOPSIGNAL " + s.stop + "\n")
		if _, err := d.tryFrom(ctx, dockerfile, []string{"DOCKER_BUILDKIT=0"}, "docker", "build", "--tag", s.name, "-"); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("built %s", s.name)
}

// fillGo fills an image with this machine's Go, and with the modules of the services.
func fillGo(t *testing.T, r *rootfs) {
	r.base("nobody", 65534)
	goroot := output(t, nil, "go", "env", "GOROOT")
	r.tree("/usr/local/go", goroot, func(name string) bool {
		return name == "/test" || name == "/doc" || name == "/api" || strings.HasSuffix(name, "_test.go")
	})
	r.file("/etc/ssl/certs/ca-certificates.crt", "/etc/ssl/certs/ca-certificates.crt")
	r.dir("/go", 0o777, 0)
	r.dir("/root", 0o700, 0)
	modules := t.TempDir()
	cached := filepath.Join(output(t, nil, "go", "env", "GOMODCACHE"), "cache", "download")
	proxies := "file://" + cached + "," + output(t, nil, "go", "env", "GOPROXY")
	output(t, []string{"GOMODCACHE=" + modules, "GOPROXY=" + proxies, "GOFLAGS=-modcacherw", "CGO_ENABLED=0"},
		append([]string{"go", "list", "-deps"}, parts(t)...)...)
	r.tree("/modules", filepath.Join(modules, "cache", "download"), nil)
}

const natsEntrypoint = `#!/bin/sh
# Arguments alone are the server's, as in the image nats.
case ${1-} in -*) set -- nats-server "$@" ;; esac
exec "$@"
`

const postgresEntrypoint = `#!/bin/sh
# What docker-compose.yml and the chart ask of the image postgres.
set -eu
[ "$1" = postgres ] || exec "$@"
if [ ! -s "$PGDATA/PG_VERSION" ]; then
	mkdir -p "$PGDATA"
	chmod 0700 "$PGDATA"
	initdb -D "$PGDATA" -U postgres --pwfile="$POSTGRES_PASSWORD_FILE" ${POSTGRES_INITDB_ARGS:-}
	if [ -d /docker-entrypoint-initdb.d ]; then
		"$@" -c listen_addresses= &
		until pg_isready -q -U postgres; do sleep 1; done
		for script in /docker-entrypoint-initdb.d/*; do
			case $script in
			*.sql) psql -v ON_ERROR_STOP=1 -U postgres -f "$script" ;;
			*) "$script" ;;
			esac
		done
		kill -INT $!
		wait $!
	fi
	printf "listen_addresses = '*'\n" >>"$PGDATA/postgresql.conf"
	printf 'host all all all scram-sha-256\n' >>"$PGDATA/pg_hba.conf"
fi
exec "$@"
`

// fillPostgres fills an image with Debian's PostgreSQL 15.
func fillPostgres(_ *testing.T, r *rootfs) {
	const lib, share = "/usr/lib/postgresql/15", "/usr/share/postgresql/15"
	r.base("postgres", 999)
	for _, name := range []string{"postgres", "initdb", "pg_isready", "psql"} {
		r.program(lib+"/bin/"+name, lib+"/bin/"+name)
	}
	// Leave out the JIT compiler, whose library is larger than everything else.
	r.tree(lib+"/lib", lib+"/lib", func(name string) bool { return strings.HasPrefix(name, "/llvmjit") || name == "/bitcode" })
	r.program(lib+"/lib/libpqwalreceiver.so", lib+"/lib/libpqwalreceiver.so")
	r.tree(share, share, func(name string) bool { return name == "/man" })
	r.tree("/usr/share/zoneinfo", "/usr/share/zoneinfo", func(name string) bool { return name == "/right" || name == "/posix" })
	r.text("/entrypoint.sh", 0o755, postgresEntrypoint)
	r.dir("/var/lib/postgresql/data", 0o1777, 999)
	r.dir("/var/run/postgresql", 0o1777, 999)
}

// parts returns the packages that deploy/Dockerfile builds.
func parts(t *testing.T) []string {
	t.Helper()
	all := regexp.MustCompile(`\./[a-z-]+(?:/[a-z]+)?/cmd/[a-z-]+`).FindAllString(harness.File(t, "deploy/Dockerfile"), -1)
	if len(all) != 13 {
		t.Fatalf("deploy/Dockerfile builds %v", all)
	}
	return all
}

// found returns the first group of pattern in text.
func found(t *testing.T, text, pattern string) string {
	t.Helper()
	match := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if match == nil {
		t.Fatalf("nothing matches %s", pattern)
	}
	return match[1]
}

// output runs a program in the root of the repository and returns its output.
func output(t *testing.T, env []string, command ...string) string {
	t.Helper()
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), buildLimit)
	defer cancel()
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	c.Dir, c.Env = root, append(os.Environ(), env...)
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %v", command, err)
	}
	return strings.TrimSpace(string(out))
}
