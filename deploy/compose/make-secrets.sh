#!/bin/sh
# Creates random secrets for docker-compose.yml in a new directory, which must not exist
# yet:
#
#   deploy/compose/make-secrets.sh /etc/reservation/secrets
#   SECRETS_DIR=/etc/reservation/secrets docker compose up -d
#
# Only its owner can open the directory. The files in it are readable for everybody,
# because Docker mounts each one separately and the services run as another user.
#
# With the second argument "insecure", it creates the demonstration secrets of the
# repository. Everybody knows them, and RESERVATION_ENV=production refuses them.
set -eu

dir=${1:?usage: make-secrets.sh DIRECTORY}
kind=${2:-random}
mkdir -m 0700 "$dir"
umask 0333

# secret NAME prints a password, hex NAME prints 64 hexadecimal characters.
secret() { if [ "$kind" = insecure ]; then printf 'insecure-%s' "$1"; else openssl rand -hex 24; fi; }
hex() { if [ "$kind" = insecure ]; then printf 'insecure-%s' "$1" | openssl dgst -sha256 -r | cut -c1-64; else openssl rand -hex 32; fi; }
write() { printf '%s\n' "$2" >"$dir/$1"; }

password=$(secret postgres)
write postgres_password "$password"
write database_admin_url "postgres://postgres:$password@postgres:5432/postgres?sslmode=disable"
for part in auth customer booking pass webhook; do
	write "${part}_migration_database_url" "postgres://${part}_owner:$(secret "$part-owner")@postgres:5432/$part?sslmode=disable"
	write "${part}_database_url" "postgres://$part:$(secret "$part")@postgres:5432/$part?sslmode=disable"
done

password=$(secret nats)
write nats_authorization.conf "user: reservation, password: \"$password\""
write nats_url "nats://reservation:$password@nats:4222"

if [ "$kind" = insecure ]; then
	write master_key "$(printf 'insecure-key-of-thirty-two-bytes' | base64)"
else
	write master_key "$(openssl rand -base64 32)"
fi

# The identifiers are not secret; docker-compose.yml contains them too.
if [ "$kind" = insecure ]; then mark=insecure-; else mark=; fi
entries=
for pair in operator:svc_00000000000000000000000001 customer:svc_00000000000000000000000002 \
	booking:svc_00000000000000000000000003 pass:svc_00000000000000000000000004 webhook:svc_00000000000000000000000005; do
	part=${pair%%:*} id=${pair#*:} value=$(hex "$part")
	if [ "$part" != operator ]; then write "${part}_credential" "$value"; fi
	entries="$entries${entries:+,
 }{\"id\":\"$id\",\"name\":\"$mark$part\",\"secret\":\"$value\",\"scopes\":[\"platform:admin\"]}"
	if [ "$part" = operator ]; then
		write operator.json "{\"grpc\":{\"auth\":\"auth:9090\",\"customer\":\"customer:9090\",\"booking\":\"booking:9090\",\"pass\":\"pass:9090\",\"webhook\":\"webhook:9090\",
 \"service_credential\":{\"id\":\"$id\",\"secret\":\"$value\"}}}"
	fi
done
write bootstrap_credentials "[$entries]"
write grafana_password "$(secret grafana)"
