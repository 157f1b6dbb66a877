#!/usr/bin/env bash
# restore.sh BACKUP restores a backup into databases that are there and empty, with the
# roles of the same names. docs/BACKUP.md says what comes before and after.
#
#   RESTORE_FILTER  a command that every dump is piped through: "age -d -i key.txt"
#
# Each database is restored in one transaction: whole or not at all. What failed can be
# run again; databases that have this backup already are left as they are.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

[ $# = 1 ] || die "usage: restore.sh BACKUP"
need psql pg_restore sha256sum
backup=$1
[ -f "$backup/MANIFEST" ] || die "$backup is no whole backup: it has no MANIFEST"
(cd "$backup" && sha256sum --quiet -c SHA256SUMS) || die "$backup is damaged: its checksums are others"
field() { sed -n "s/^$1 //p" "$backup/MANIFEST"; }
[ "$(field format)" = "$FORMAT" ] || die "$backup has the format $(field format), this program reads $FORMAT"
id=$(field backup)
if [ "$(field filter)" = yes ] && [ -z "${RESTORE_FILTER:-}" ]; then
  die "the dumps were piped through a filter: RESTORE_FILTER must undo it"
fi

# All databases are looked at before any is touched.
todo=()
for part in "${PARTS[@]}"; do
  [ -f "$backup/$part.dump" ] || die "$backup has no $part.dump"
  note=$(query "$part" "select coalesce(shobj_description(oid, 'pg_database'), '') from pg_database where datname = current_database()") ||
    die "$part: the database $(database "$part") cannot be reached"
  if [ "$note" = "restored from $id" ]; then
    say "$part: is restored already"
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
    die "$part: nothing of it was restored"
  query "$part" "do \$\$ begin execute format('comment on database %I is %L', current_database(), 'restored from $id'); end \$\$"
  query "$part" "analyze"
done
say "done: now run the migrate command of every part, then start them, and reservectl reconcile"
