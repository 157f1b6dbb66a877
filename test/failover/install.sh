#!/bin/sh
# Installs the missing requirements of make failover-test: Patroni and etcd. It needs Debian or
# Ubuntu, and root. It does not start or enable a service.
set -eu

missing=
need() { command -v "$1" >/dev/null 2>&1 || missing="$missing $2"; }
need patroni patroni
need etcd etcd-server
[ -z "$missing" ] && exit 0

echo "failover-test: installing$missing" >&2
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
	# Without this policy the packages would start their services.
	printf '#!/bin/sh\nexit 101\n' >"$policy"
	chmod 0755 "$policy"
	trap 'rm -f "$policy"' EXIT
fi
apt-get update -q >&2
# shellcheck disable=SC2086 # a list of packages
DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing >&2
