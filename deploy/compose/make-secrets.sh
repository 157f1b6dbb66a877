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
# With the second argument "add", the directory must exist. The script adds the secrets of
# services that are new in this release, and keeps all others.
#
# With the second argument "insecure", it creates the demonstration secrets of the
# repository. Everybody knows them, and RESERVATION_ENV=production refuses them.
set -eu

dir=${1:?usage: make-secrets.sh DIRECTORY}
kind=${2:-random}
if [ "$kind" = add ]; then
	[ -f "$dir/operator.json" ] || { echo "make-secrets.sh: $dir has no operator.json: it is not a directory that this script created" >&2; exit 1; }
else
	mkdir -m 0700 "$dir"
fi
umask 0333

# secret NAME prints a password, hex NAME prints 64 hexadecimal characters.
secret() { if [ "$kind" = insecure ]; then printf 'insecure-%s' "$1"; else openssl rand -hex 24; fi; }
hex() { if [ "$kind" = insecure ]; then printf 'insecure-%s' "$1" | openssl dgst -sha256 -r | cut -c1-64; else openssl rand -hex 32; fi; }
# write FILE TEXT keeps an existing file, and replace FILE TEXT does not.
write() { [ -e "$dir/$1" ] || printf '%s\n' "$2" >"$dir/$1"; }
replace() { rm -f "$dir/$1" && printf '%s\n' "$2" >"$dir/$1"; }
# credential PART prints the secret of a service's credential, or else a new one.
credential() {
	if [ -e "$dir/${1}_credential" ]; then
		cat "$dir/${1}_credential"
	elif [ "$1" = operator ] && [ -e "$dir/operator.json" ]; then
		sed -n 's/.*"secret":"\([0-9a-f]*\)".*/\1/p' "$dir/operator.json"
	else
		hex "$1"
	fi
}

password=$(secret postgres)
write postgres_password "$password"
write database_admin_url "postgres://postgres:$password@postgres:5432/postgres?sslmode=disable"
for part in auth customer booking pass subscription media reports webhook; do
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
if [ -e "$dir/bootstrap_credentials" ]; then entries=$(sed '1s/^\[//; $s/\]$//' "$dir/bootstrap_credentials"); fi
for pair in operator:svc_00000000000000000000000001 customer:svc_00000000000000000000000002 \
	booking:svc_00000000000000000000000003 pass:svc_00000000000000000000000004 webhook:svc_00000000000000000000000005 \
	subscription:svc_00000000000000000000000006 media:svc_00000000000000000000000007 reports:svc_00000000000000000000000008; do
	part=${pair%%:*} id=${pair#*:} value=$(credential "$part")
	if [ "$part" != operator ]; then write "${part}_credential" "$value"; fi
	case $entries in *"\"$id\""*) ;; *) entries="$entries${entries:+,
 }{\"id\":\"$id\",\"name\":\"$mark$part\",\"secret\":\"$value\",\"scopes\":[\"platform:admin\"]}" ;; esac
	if [ "$part" = operator ]; then
		replace operator.json "{\"grpc\":{\"auth\":\"auth:9090\",\"customer\":\"customer:9090\",\"booking\":\"booking:9090\",\"pass\":\"pass:9090\",
 \"subscription\":\"subscription:9090\",\"media\":\"media:9090\",\"reports\":\"reports:9090\",\"webhook\":\"webhook:9090\",
 \"service_credential\":{\"id\":\"$id\",\"secret\":\"$value\"}},
 \"media\":{\"base_url\":\"http://media:8080\"}}"
	fi
done
replace bootstrap_credentials "[$entries]"
write grafana_password "$(secret grafana)"
