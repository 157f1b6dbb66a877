#!/bin/sh
# Replaces the containers of parts by ones of the images that are there now, with
# nobody noticing: as many new ones are started beside the old ones, and these are
# stopped, one after another, when the new ones are ready.
#
#   deploy/compose/roll.sh booking gateway-b
#
# Run it with the settings (.env, SECRETS_DIR, COMPOSE_FILE, …) of `docker compose up`.
set -eu

[ $# -gt 0 ] || { echo "usage: $0 PART…" >&2; exit 2; }
for part; do
	old=$(docker compose ps -q "$part")
	count=$(printf '%s\n' "$old" | grep -c .) || { echo "$0: $part does not run" >&2; exit 1; }
	echo "$part: $count new"
	docker compose up -d --wait --no-deps --no-recreate --scale "$part=$((2 * count))" "$part"
	# Whoever loses the first one looks for others, and finds the new ones.
	for container in $old; do
		docker stop -t 30 "$container" >/dev/null
		docker rm "$container" >/dev/null
	done
done
