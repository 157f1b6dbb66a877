#!/bin/sh
# Installs Chromium for the tests that use the dashboard in a browser.
#
# It does nothing if Chromium is installed. On Debian and Ubuntu, it installs the package
# chromium, as root or with sudo if sudo needs no password. On other systems, or if the
# installation fails, it prints a message and still exits with 0: the tests that need a
# browser are then skipped.
#
#   CHROMIUM   path of a browser that is not in a usual place
set -u

say() { printf 'install-chromium: %s\n' "$*" >&2; }

# as_root COMMAND… runs a command as root without asking for a password.
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

# present succeeds if there is a browser. The tests look for the same names.
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
	say "installing Chromium for the browser tests of the dashboard"
	# The font contains the letters of all names in the demonstration company.
	apt_install chromium fonts-noto-core || {
		as_root apt-get update -qq >/dev/null 2>&1
		apt_install chromium fonts-noto-core
	}
fi
present || say "Chromium is not installed: the browser tests of the dashboard will be skipped"
exit 0
