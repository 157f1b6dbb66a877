#!/bin/sh
# Replaces the containers of services with containers of the current images, without
# interrupting service. It starts as many new containers as there are old ones. When the
# new ones are ready, it stops the old ones one after another.
#
#   deploy/compose/roll.sh booking gateway-b
#
# Run it with the same settings (.env, SECRETS_DIR, COMPOSE_FILE, …) as `docker compose up`.
set -eu

[ $# -gt 0 ] || { echo "usage: $0 SERVICE…" >&2; exit 2; }
for part; do
	old=$(docker compose ps -q "$part")
	count=$(printf '%s\n' "$old" | grep -c .) || { echo "$0: $part is not running; start it with docker compose up -d $part" >&2; exit 1; }
	echo "$part: starting $count new, then stopping $count old"
	docker compose up -d --wait --no-deps --no-recreate --scale "$part=$((2 * count))" "$part"
	# Callers that lose an old container look the name up again, and find the new ones.
	for container in $old; do
		docker stop -t 30 "$container" >/dev/null
		docker rm "$container" >/dev/null
	done
done
