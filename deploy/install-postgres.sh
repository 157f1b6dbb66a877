#!/bin/sh
# Installs the programs of a PostgreSQL server, version 15 or newer, for the private
# server that the platform starts automatically.
#
# It does nothing if they are installed. On Debian and Ubuntu, it installs the package
# postgresql, as root or with sudo if sudo needs no password, and prevents the package
# from creating a database cluster or starting a server. On other systems, it prints what
# to do. It exits with 0 only if the programs are installed.
#
#   POSTGRES_BIN   directory of initdb and postgres, if it is not a usual place
set -eu

oldest=15
dropin=/etc/postgresql-common/createcluster.d/reservation-install.conf

say() { printf 'install-postgres: %s\n' "$*" >&2; }

fail() {
	say "$@"
	exit 1
}

# major DIR prints the major version of the server in DIR. It fails if there is none.
major() {
	[ -x "$1/initdb" ] && [ -x "$1/postgres" ] || return 1
	"$1/postgres" --version 2>/dev/null | sed -n 's/.*PostgreSQL) \([0-9][0-9]*\).*/\1/p' | grep .
}

usable() {
	found=$(major "$1") && [ "$found" -ge "$oldest" ]
}

# present succeeds if there is a server. The platform looks in the same places.
present() {
	if [ -n "${POSTGRES_BIN:-}" ]; then
		usable "$POSTGRES_BIN" && return 0
		fail "POSTGRES_BIN is $POSTGRES_BIN, but this directory has no PostgreSQL server $oldest or newer: correct or unset POSTGRES_BIN"
	fi
	# Debian also has a pg_config that only names the package of the real one.
	if dir=$(pg_config --bindir 2>/dev/null) && usable "$dir"; then
		return 0
	fi
	if path=$(command -v postgres) && usable "$(dirname "$path")"; then
		return 0
	fi
	for dir in /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /usr/libexec/postgresql* /usr/lib/postgresql*/bin \
		/usr/local/pgsql/bin /opt/homebrew/opt/postgresql@*/bin /usr/local/opt/postgresql@*/bin \
		/home/linuxbrew/.linuxbrew/opt/postgresql@*/bin /Applications/Postgres.app/Contents/Versions/*/bin; do
		if usable "$dir"; then
			return 0
		fi
	done
	return 1
}

# as_root COMMAND… runs a command as root without asking for a password.
as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	else
		sudo -n "$@"
	fi
}

apt_install() {
	as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@" >&2
}

# offered prints the major version that the package postgresql would install, or 0 if it is
# unknown.
offered() {
	version=$(apt-cache policy postgresql 2>/dev/null | sed -n 's/^ *Candidate: \([0-9][0-9]*\).*/\1/p')
	echo "${version:-0}"
}

install_debian() {
	if [ "$(id -u)" -ne 0 ] && ! sudo -n true 2>/dev/null; then
		fail "PostgreSQL server $oldest or newer is not installed, and installing it needs root. Run: sudo $0"
	fi
	say "installing PostgreSQL's server programs"
	if [ "$(offered)" -eq 0 ] || ! apt_install postgresql-common; then
		# The package lists are missing, or too old to find the packages.
		as_root apt-get update -q >&2
		apt_install postgresql-common
	fi
	if [ "$(offered)" -lt "$oldest" ]; then
		fail "this system offers PostgreSQL $(offered), but $oldest or newer is needed. Add PostgreSQL's own package repository" \
			"(sudo /usr/share/postgresql-common/pgdg/apt.postgresql.org.sh), then run this command again"
	fi
	# The server package would create the cluster "main" and start it. This setting is
	# removed afterwards, so that it does not affect later installations.
	trap 'as_root rm -f "$dropin"' EXIT
	trap 'exit 1' HUP INT TERM
	as_root mkdir -p "$(dirname "$dropin")"
	echo 'create_main_cluster = false' | as_root tee "$dropin" >/dev/null
	if [ "$(pg_conftool /etc/postgresql-common/createcluster.conf show -bs create_main_cluster)" != off ]; then
		fail "/etc/postgresql-common/createcluster.conf has no include_dir. Add 'create_main_cluster = false' to it, then run this command again"
	fi
	apt_install postgresql || {
		as_root apt-get update -q >&2
		apt_install postgresql
	}
	present || fail "the package postgresql is installed, but no PostgreSQL server $oldest or newer was found. Set POSTGRES_BIN to the directory of initdb and postgres"
}

advise() {
	say "PostgreSQL server $oldest or newer is not installed. $1"
	fail "Or set POSTGRES_BIN to the directory of initdb and postgres, or DATABASE_URL to use another server."
}

if present; then
	exit 0
fi
if [ "$(uname -s)" = Darwin ]; then
	advise "Run: brew install postgresql@17"
fi
if command -v apt-get >/dev/null 2>&1 && command -v dpkg >/dev/null 2>&1; then
	install_debian
	exit 0
fi
for manager in "dnf install postgresql-server" "zypper install postgresql-server" "apk add postgresql" "pacman -S postgresql"; do
	if command -v "${manager%% *}" >/dev/null 2>&1; then
		advise "As root, run: $manager"
	fi
done
advise "Install it with this system's package manager."
