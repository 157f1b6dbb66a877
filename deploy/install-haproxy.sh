#!/bin/sh
# Installs HAProxy for the test of the router in front of several cells.
#
# It does nothing if HAProxy is installed. On Debian and Ubuntu, it installs the package
# haproxy, as root or with sudo if sudo needs no password, and starts no service. On other
# systems, or if the installation fails, it prints a message and still exits with 0: the
# test of the router is then skipped.
set -u

say() { printf 'install-haproxy: %s\n' "$*" >&2; }

# as_root COMMAND… runs a command as root without asking for a password.
as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	else
		sudo -n "$@"
	fi
}

# apt_install PACKAGE… installs packages. RUNLEVEL keeps their services from starting.
apt_install() {
	as_root env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y -qq --no-install-recommends "$@" >/dev/null 2>&1
}

# present succeeds if there is a HAProxy. The test looks in the same places.
present() {
	command -v haproxy >/dev/null 2>&1 || [ -x /usr/sbin/haproxy ]
}

if present; then
	exit 0
fi
if command -v apt-get >/dev/null 2>&1 && command -v dpkg >/dev/null 2>&1 &&
	{ [ "$(id -u)" -eq 0 ] || sudo -n true 2>/dev/null; }; then
	say "installing HAProxy for the test of the router"
	apt_install haproxy || {
		as_root apt-get update -qq >/dev/null 2>&1
		apt_install haproxy
	}
fi
present || say "HAProxy is not installed: the test of the router will be skipped"
exit 0
