#!/bin/sh
# Installs Chromium, with which the tests use the dashboard as a person does.
#
# Says and does nothing if there is one. On Debian and Ubuntu it installs the
# package chromium, as root or through sudo if that asks for no password.
# Elsewhere, and where that fails, it says so and exits with 0 all the same: the
# tests that need a browser are skipped then, with a message.
#
#   CHROMIUM   a browser that is in none of the usual places
set -u

say() { printf 'install-chromium: %s\n' "$*" >&2; }

# as_root COMMAND…: runs a command as root, asking nobody for anything.
as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	else
		sudo -n "$@"
	fi
}

apt_install() {
	as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null 2>&1
}

# present: whether there is a browser. These are the names that the tests look for.
present() {
	[ -n "${CHROMIUM:-}" ] && return 0
	for name in chromium chromium-browser google-chrome google-chrome-stable; do
		command -v "$name" >/dev/null 2>&1 && return 0
	done
	return 1
}

if present; then
	exit 0
fi
if command -v apt-get >/dev/null 2>&1 && command -v dpkg >/dev/null 2>&1 &&
	{ [ "$(id -u)" -eq 0 ] || sudo -n true 2>/dev/null; }; then
	say "installing Chromium for the tests of the dashboard"
	# The font has the letters of all the names in the demonstration company.
	apt_install chromium fonts-noto-core || {
		as_root apt-get update -qq >/dev/null 2>&1
		apt_install chromium fonts-noto-core
	}
fi
present || say "there is no Chromium: the tests of the dashboard in a browser are skipped"
exit 0
