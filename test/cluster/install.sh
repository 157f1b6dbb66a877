#!/bin/sh
# Installs what make cluster-test needs and this machine lacks: what a node of
# Kubernetes runs its pods with. On Debian and Ubuntu, as root. Nothing is started
# here, and nothing is left enabled.
set -eu

missing=
need() { [ -n "$(PATH="$PATH:/usr/sbin:/usr/lib/cni:/opt/cni/bin" command -v "$1")" ] || missing="$missing $2"; }
need containerd containerd
need runc runc
need host-local containernetworking-plugins
need iptables iptables
need ip iproute2
need jq jq
[ -z "$missing" ] && exit 0

echo "cluster-test: installing$missing" >&2
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
	# The packages would start their services.
	printf '#!/bin/sh\nexit 101\n' >"$policy"
	chmod 0755 "$policy"
	trap 'rm -f "$policy"' EXIT
fi
apt-get update -q >&2
# shellcheck disable=SC2086 # a list of packages
DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing >&2
