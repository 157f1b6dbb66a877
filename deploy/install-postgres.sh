#!/bin/sh
# Makes sure that this machine has the programs of a PostgreSQL server, version
# 15 or newer, for the private server that the platform starts by itself.
#
# Says and does nothing if they are there. On Debian and Ubuntu it installs the
# package postgresql, as root or through sudo if that asks for no password, and
# keeps it from creating a database cluster or starting a server of its own.
# Elsewhere it says what to do. It exits with 0 only if the programs are there.
#
#   POSTGRES_BIN   the directory of initdb and postgres, if they are in none of
#                  the usual places
set -eu

oldest=15
dropin=/etc/postgresql-common/createcluster.d/reservation-install.conf

say() { printf 'install-postgres: %s\n' "$*" >&2; }

fail() {
	say "$@"
	exit 1
}

# major DIR: the major version of the server in DIR; fails if there is none.
major() {
	[ -x "$1/initdb" ] && [ -x "$1/postgres" ] || return 1
	"$1/postgres" --version 2>/dev/null | sed -n 's/.*PostgreSQL) \([0-9][0-9]*\).*/\1/p' | grep .
}

usable() {
	found=$(major "$1") && [ "$found" -ge "$oldest" ]
}

# present: whether there is a server. These are the places where the platform looks.
present() {
	if [ -n "${POSTGRES_BIN:-}" ]; then
		usable "$POSTGRES_BIN" && return 0
		fail "POSTGRES_BIN is $POSTGRES_BIN, which has no PostgreSQL server of version $oldest or newer: correct or unset it"
	fi
	# Debian has a pg_config that only says which package the real one is in.
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

# as_root COMMAND…: runs a command as root, asking nobody for anything.
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

# offered: the major version that the package postgresql would install, 0 if unknown.
offered() {
	version=$(apt-cache policy postgresql 2>/dev/null | sed -n 's/^ *Candidate: \([0-9][0-9]*\).*/\1/p')
	echo "${version:-0}"
}

install_debian() {
	if [ "$(id -u)" -ne 0 ] && ! sudo -n true 2>/dev/null; then
		fail "no PostgreSQL server $oldest or newer is installed, and installing it needs root. Run: sudo $0"
	fi
	say "installing PostgreSQL's server programs"
	if [ "$(offered)" -eq 0 ] || ! apt_install postgresql-common; then
		# Package lists are missing, or so old that their packages are gone.
		as_root apt-get update -q >&2
		apt_install postgresql-common
	fi
	if [ "$(offered)" -lt "$oldest" ]; then
		fail "this release has PostgreSQL $(offered), and $oldest or newer is needed. Add PostgreSQL's own packages" \
			"(sudo /usr/share/postgresql-common/pgdg/apt.postgresql.org.sh), then run this again"
	fi
	# A new server package would create the cluster "main" and start it. The
	# setting is for this installation and not for what is installed later.
	trap 'as_root rm -f "$dropin"' EXIT
	trap 'exit 1' HUP INT TERM
	as_root mkdir -p "$(dirname "$dropin")"
	echo 'create_main_cluster = false' | as_root tee "$dropin" >/dev/null
	if [ "$(pg_conftool /etc/postgresql-common/createcluster.conf show -bs create_main_cluster)" != off ]; then
		fail "/etc/postgresql-common/createcluster.conf has no include_dir. Put 'create_main_cluster = false' into it, then run this again"
	fi
	apt_install postgresql || {
		as_root apt-get update -q >&2
		apt_install postgresql
	}
	present || fail "the package postgresql is installed, but no server $oldest or newer was found. Set POSTGRES_BIN to the directory of initdb and postgres"
}

advise() {
	say "no PostgreSQL server $oldest or newer is installed. $1"
	fail "(or set POSTGRES_BIN to the directory of initdb and postgres, or DATABASE_URL to use another server)"
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
