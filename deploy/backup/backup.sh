#!/usr/bin/env bash
# backup.sh DIRECTORY writes a backup of the platform's databases to a new directory
# below DIRECTORY, and prints its name. The platform may run meanwhile. docs/BACKUP.md
#
#   BACKUP_FILTER  a command that every dump is piped through, for encryption: "age -r age1…"
#   BACKUP_PAUSE   seconds between the moment of the parts and that of webhook (default 2)
#
# The role that connects must read everything: a superuser, or one with BYPASSRLS and
# pg_read_all_data. A backup that failed leaves a directory that ends in .partial.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

[ $# = 1 ] || die "usage: backup.sh DIRECTORY"
need psql pg_dump pg_restore sha256sum mkfifo
umask 077
mkdir -p "$1"
id=$(date -u +%Y%m%dT%H%M%SZ)
final="$1/$id"
work="$final.partial"
[ ! -e "$final" ] && mkdir "$work" 2>/dev/null || die "there is a backup of this second: $final"

declare -A to from pid snapshot at schema
close_sessions() {
  local part
  for part in "${!to[@]}"; do
    echo '\q' >&"${to[$part]}" || true
    exec {to[$part]}>&- {from[$part]}<&- || true
  done 2>/dev/null
  for part in "${!pid[@]}"; do wait "${pid[$part]}" 2>/dev/null || true; done
  to=() pid=()
  rm -f "$work"/.*.in "$work"/.*.out
}
ended() {
  local status=$?
  close_sessions
  [ $status = 0 ] || echo "backup.sh: failed; what there is of it is in $work, and is of no use" >&2
  cat "$work"/.*.err >&2 2>/dev/null || true
}
trap ended EXIT
trap '' PIPE # of a session that has ended; its error is told
trap 'exit 130' INT TERM

# open PART starts a session that holds the part's moment until its dump is done.
open() {
  local part=$1 in="$work/.$1.in" out="$work/.$1.out"
  mkfifo "$in" "$out"
  PGOPTIONS="-c statement_timeout=0 -c idle_in_transaction_session_timeout=0 ${PGOPTIONS:-}" \
    psql -XqAt -v ON_ERROR_STOP=1 -d "$(database "$part")" <"$in" >"$out" 2>"$work/.$part.err" &
  pid[$part]=$!
  exec {to[$part]}>"$in" {from[$part]}<"$out"
}

# begin PART… has the sessions note their moments, all at once.
begin() {
  local part line
  for part in "$@"; do
    echo "begin isolation level repeatable read read only; select pg_export_snapshot() || ' ' || to_char(clock_timestamp() at time zone 'utc', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"');" >&"${to[$part]}" || die "$part: no session"
  done
  for part in "$@"; do
    IFS= read -r -t 60 line <&"${from[$part]}" || die "$part: no moment"
    snapshot[$part]=${line% *} at[$part]=${line#* }
  done
}

say "backup $id: taking the moment of ${PARTS[*]}"
for part in "${PARTS[@]}"; do open "$part"; done
begin "${PARTS[@]:0:4}"
# What the others had published by their moment has been consumed by webhook's.
sleep "${BACKUP_PAUSE:-2}"
begin webhook

for part in "${PARTS[@]}"; do
  file="$part.dump"
  say "dumping $part as of ${at[$part]}"
  pg_dump -Fc --snapshot="${snapshot[$part]}" --lock-wait-timeout=30s -d "$(database "$part")" | eval "${BACKUP_FILTER:-cat}" >"$work/$file"
  [ -s "$work/$file" ] || die "$part: the dump is empty"
  [ -n "${BACKUP_FILTER:-}" ] || pg_restore --list "$work/$file" >/dev/null
  versions=$(query "$part" "select 'platform=' || max(p.version_id) || ' $part=' || (select max(version_id) from ${part}_schema where is_applied) from platform_schema p where is_applied")
  schema[$part]=$versions
done
close_sessions

{
  echo "format $FORMAT"
  echo "backup $id"
  echo "filter ${BACKUP_FILTER:+yes}"
  echo "client $(pg_dump --version)"
  for part in "${PARTS[@]}"; do
    echo "database $part moment ${at[$part]} server $(query "$part" 'show server_version_num') schema ${schema[$part]} bytes $(stat -c %s "$work/$part.dump")"
  done
} >"$work/MANIFEST"
rm -f "$work"/.*.err
(cd "$work" && sha256sum MANIFEST ./*.dump >SHA256SUMS)
sync -f "$work" 2>/dev/null || sync
mv "$work" "$final"
trap - EXIT
say "done: $(du -sh "$final" | cut -f1) in $final"
echo "$final"
