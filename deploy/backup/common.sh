# What backup.sh and restore.sh share: where the databases are.
#
# The connection is libpq's (PGHOST, PGPORT, PGUSER, PGPASSWORD, PGSSLMODE, ~/.pgpass).
# A database is named by its part, after DATABASE_PREFIX, or by AUTH_DATABASE,
# CUSTOMER_DATABASE, … : a name or a postgres:// URL.
set -euo pipefail

# Those whose events others copy come first, the one that only consumes comes last.
PARTS=(auth customer pass booking webhook)
FORMAT=1

say() { echo "$(date -u +%H:%M:%S) $*" >&2; }
die() { echo "$(basename "$0"): $*" >&2; exit 1; }

# database PART prints what psql's -d takes.
database() {
  local name="${1^^}_DATABASE"
  echo "${!name:-${DATABASE_PREFIX:-}$1}"
}

# query PART SQL prints the answer, unaligned.
query() { PGOPTIONS="-c statement_timeout=0 ${PGOPTIONS:-}" psql -XqAt -v ON_ERROR_STOP=1 -d "$(database "$1")" -c "$2"; }

need() {
  local program
  for program in "$@"; do
    command -v "$program" >/dev/null || die "$program is not there: install PostgreSQL's client programs, of the server's version or later"
  done
}
