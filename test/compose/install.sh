#!/bin/sh
# Installs the missing requirements of make compose-test: the programs of Docker, and
# the software for the images that replace published ones. It needs Debian or Ubuntu
# and root. It does not start or enable a daemon.
set -eu

missing=
need() { command -v "$1" >/dev/null 2>&1 || [ -x "/usr/sbin/$1" ] || missing="$missing $2"; }
need dockerd docker.io
need docker docker.io
need iptables iptables
need ip iproute2
need haproxy haproxy
need busybox busybox-static
need prometheus prometheus
[ -z "$missing" ] && exit 0

echo "compose-test: installing$missing" >&2
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
