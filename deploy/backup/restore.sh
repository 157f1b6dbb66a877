#!/usr/bin/env bash
# restore.sh BACKUP restores a backup into existing, empty databases. The roles must have
# the same names as before. docs/BACKUP.md describes the steps before and after.
#
#   RESTORE_FILTER  command that every dump is piped through, for example
#                   "age -d -i key.txt"
#   MEDIA_DIR       existing directory to which the files of media are restored, if the
#                   backup has them; files that are there already are kept
#
# Each database is restored in one transaction: completely or not at all. After a failure,
# run the script again: it skips databases that it restored from this backup.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

[ $# = 1 ] || die "usage: restore.sh BACKUP"
need psql pg_restore sha256sum tar
backup=$1
[ -f "$backup/MANIFEST" ] || die "$backup is not a complete backup: it has no MANIFEST"
(cd "$backup" && sha256sum --quiet -c SHA256SUMS) || die "$backup is damaged: its files do not match their checksums"
field() { sed -n "s/^$1 //p" "$backup/MANIFEST"; }
[ "$(field format)" = "$FORMAT" ] || die "$backup has format $(field format), but this script reads only format $FORMAT"
id=$(field backup)
if [ "$(field filter)" = yes ] && [ -z "${RESTORE_FILTER:-}" ]; then
  die "the dumps were piped through BACKUP_FILTER: set RESTORE_FILTER to the command that undoes it"
fi

if [ -f "$backup/media-files.tar" ] && [ -z "${MEDIA_DIR:-}" ]; then
  die "the backup has the files of media: set MEDIA_DIR to the directory to restore them to"
fi
[ -z "${MEDIA_DIR:-}" ] || [ -d "$MEDIA_DIR" ] || die "MEDIA_DIR is not a directory: $MEDIA_DIR"

# All databases are checked before any is changed.
todo=()
for part in "${PARTS[@]}"; do
  if ! grep -q "^database $part " "$backup/MANIFEST"; then
    say "$part: this backup is older than the service; its database stays as it is"
    continue
  fi
  [ -f "$backup/$part.dump" ] || die "$backup has no $part.dump"
  note=$(query "$part" "select coalesce(shobj_description(oid, 'pg_database'), '') from pg_database where datname = current_database()") ||
    die "$part: cannot connect to the database $(database "$part")"
  if [ "$note" = "restored from $id" ]; then
    say "$part: already restored from this backup, skipping"
    continue
  fi
  [ "$(query "$part" "select count(*) from pg_class where relnamespace = 'public'::regnamespace")" = 0 ] ||
    die "$part: the database $(database "$part") is not empty; nothing was changed"
  todo+=("$part")
done

for part in ${todo[@]+"${todo[@]}"}; do
  say "restoring $part"
  owner=$(query "$part" "select pg_get_userbyid(datdba) from pg_database where datname = current_database()")
  eval "${RESTORE_FILTER:-cat}" <"$backup/$part.dump" |
    pg_restore --exit-on-error --single-transaction --no-owner --role="$owner" -d "$(database "$part")" ||
    die "$part: the restore failed, and this database was not changed"
  query "$part" "do \$\$ begin execute format('comment on database %I is %L', current_database(), 'restored from $id'); end \$\$"
  query "$part" "analyze"
done
if [ -f "$backup/media-files.tar" ] && [ -n "${MEDIA_DIR:-}" ]; then
  say "restoring the files of media"
  eval "${RESTORE_FILTER:-cat}" <"$backup/media-files.tar" | tar -C "$MEDIA_DIR" --skip-old-files -xf - || die "media: cannot restore the files to $MEDIA_DIR"
fi
say "restore complete. Next: run migrate of every service, start all services, then run reservectl reconcile (docs/BACKUP.md)"
