#!/usr/bin/env bash
# backup.sh DIRECTORY writes a backup of the platform's databases to a new directory
# below DIRECTORY, and prints the new directory's name. The platform can keep running.
# See docs/BACKUP.md.
#
#   BACKUP_FILTER  command that every dump is piped through, for example "age -r age1…"
#   MEDIA_DIR      directory with the files of media, if they are in a directory: they are
#                  written to media-files.tar
#   BACKUP_PAUSE   seconds between webhook's snapshot and those of the other services
#                  (default 2)
#
# The connecting role must be able to read everything: a superuser, or a role with
# BYPASSRLS and pg_read_all_data. A failed backup leaves a directory whose name ends in
# .partial.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

[ $# = 1 ] || die "usage: backup.sh DIRECTORY"
need psql pg_dump pg_restore sha256sum mkfifo tar
umask 077
mkdir -p "$1"
id=$(date -u +%Y%m%dT%H%M%SZ)
final="$1/$id"
work="$final.partial"
[ ! -e "$final" ] && mkdir "$work" 2>/dev/null || die "a backup with this time exists already: $final"

declare -A to from pid snapshot at schema
# close PART ends the session that holds the service's snapshot.
close() {
  local part=$1
  {
    echo '\q' >&"${to[$part]}" || true
    exec {to[$part]}>&- {from[$part]}<&- || true
  } 2>/dev/null
  wait "${pid[$part]}" 2>/dev/null || true
  unset "to[$part]" "from[$part]" "pid[$part]"
  rm -f "$work/.$part.in" "$work/.$part.out"
}
ended() {
  local status=$? part
  for part in "${!pid[@]}"; do close "$part"; done
  [ $status = 0 ] || echo "backup.sh: the backup failed. The incomplete backup in $work cannot be restored; delete it." >&2
  cat "$work"/.*.err >&2 2>/dev/null || true
}
trap ended EXIT
trap '' PIPE # a session that ended; its error is printed at the end
trap 'exit 130' INT TERM

# open PART starts the session that holds the service's snapshot until its dump is done.
open() {
  local part=$1 in="$work/.$1.in" out="$work/.$1.out"
  mkfifo "$in" "$out"
  PGOPTIONS="-c statement_timeout=0 -c idle_in_transaction_session_timeout=0 ${PGOPTIONS:-}" \
    psql -XqAt -v ON_ERROR_STOP=1 -d "$(database "$part")" <"$in" >"$out" 2>"$work/.$part.err" &
  pid[$part]=$!
  exec {to[$part]}>"$in" {from[$part]}<"$out"
}

# begin PART… takes the snapshots of the services at the same time. Webhook drops old partitions of its
# log; a lock keeps those that the snapshot has.
begin() {
  local part line lock
  for part in "$@"; do
    lock=
    [ "$part" != webhook ] || lock="lock table messages, attempts in access share mode;"
    echo "begin isolation level repeatable read read only; $lock select pg_export_snapshot() || ' ' || to_char(clock_timestamp() at time zone 'utc', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"');" >&"${to[$part]}" || die "$part: cannot connect to the database"
  done
  for part in "$@"; do
    IFS= read -r -t 60 line <&"${from[$part]}" || die "$part: the database did not return a snapshot within 60 s"
    snapshot[$part]=${line% *} at[$part]=${line#* }
  done
}

say "backup $id: taking snapshots of ${PARTS[*]}"
for part in "${PARTS[@]}"; do open "$part"; done
begin "${PARTS[@]:0:${#PARTS[@]}-1}"
# Webhook's snapshot comes later, so that webhook has consumed the events that the others
# had published before their snapshots.
sleep "${BACKUP_PAUSE:-2}"
begin webhook

# Vacuum cannot remove row versions that a snapshot still sees. So the databases with the most changes
# come first, and each snapshot ends with its dump.
for part in "${DUMPS[@]}"; do
  file="$part.dump"
  say "dumping $part as of ${at[$part]}"
  pg_dump -Fc --snapshot="${snapshot[$part]}" --lock-wait-timeout=30s -d "$(database "$part")" | eval "${BACKUP_FILTER:-cat}" >"$work/$file"
  [ -s "$work/$file" ] || die "$part: the dump is empty"
  [ -n "${BACKUP_FILTER:-}" ] || pg_restore --list "$work/$file" >/dev/null
  versions=$(query "$part" "select 'platform=' || max(p.version_id) || ' $part=' || (select max(version_id) from ${part}_schema where is_applied) from platform_schema p where is_applied")
  schema[$part]=$versions
  close "$part"
done

# The files come after the snapshot of media's database. A file is stored before the row that
# names it, and is removed some time after that row, so the files of the snapshot are still there.
if [ -n "${MEDIA_DIR:-}" ]; then
  say "copying the files of media"
  # Status 1 means that a file was removed or changed while tar ran: a part of an upload.
  { tar -C "$MEDIA_DIR" --warning=no-file-changed --warning=no-file-removed -cf - . || [ $? = 1 ]; } |
    eval "${BACKUP_FILTER:-cat}" >"$work/media-files.tar" || die "media: cannot copy $MEDIA_DIR"
fi

{
  echo "format $FORMAT"
  echo "backup $id"
  echo "filter ${BACKUP_FILTER:+yes}"
  echo "client $(pg_dump --version)"
  [ -z "${MEDIA_DIR:-}" ] || echo "files media bytes $(stat -c %s "$work/media-files.tar")"
  for part in "${PARTS[@]}"; do
    echo "database $part moment ${at[$part]} server $(query "$part" 'show server_version_num') schema ${schema[$part]} bytes $(stat -c %s "$work/$part.dump")"
  done
} >"$work/MANIFEST"
rm -f "$work"/.*.err
(cd "$work" && sha256sum MANIFEST ./*.dump $([ ! -e media-files.tar ] || echo ./media-files.tar) >SHA256SUMS)
sync -f "$work" 2>/dev/null || sync
mv "$work" "$final"
trap - EXIT
say "backup complete: $(du -sh "$final" | cut -f1) in $final"
echo "$final"
