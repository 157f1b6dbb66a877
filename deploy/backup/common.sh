# Functions that backup.sh and restore.sh share.
#
# libpq's variables select the server (PGHOST, PGPORT, PGUSER, PGPASSWORD, PGSSLMODE,
# ~/.pgpass). A database's name is DATABASE_PREFIX followed by the service's name, or the
# value of AUTH_DATABASE, CUSTOMER_DATABASE and so on: a name or a postgres:// URL.
set -euo pipefail

# Services that publish events come first. webhook, which only consumes them, comes last.
PARTS=(auth customer pass booking subscription media webhook)
# The same services in the order of their dumps: those whose rows change most come first.
DUMPS=(booking pass webhook customer auth subscription media)
FORMAT=1

say() { echo "$(date -u +%H:%M:%S) $*" >&2; }
die() { echo "$(basename "$0"): $*" >&2; exit 1; }

# database PART prints the service's database as an argument for psql -d.
database() {
  local name="${1^^}_DATABASE"
  echo "${!name:-${DATABASE_PREFIX:-}$1}"
}

# query PART SQL runs a query and prints the unaligned result.
query() { PGOPTIONS="-c statement_timeout=0 ${PGOPTIONS:-}" psql -XqAt -v ON_ERROR_STOP=1 -d "$(database "$1")" -c "$2"; }

need() {
  local program
  for program in "$@"; do
    command -v "$program" >/dev/null || die "$program is not installed: install PostgreSQL's client programs, in the server's version or later"
  done
}
