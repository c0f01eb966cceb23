#!/bin/sh
# The browser that the tests of the pages drive. Debian has a Chromium without a window, which takes half of the time:
# it is installed if it is missing and we may. Elsewhere, and if that fails, any Chromium serves as well.
set -eu

have() {
    command -v "$1" >/dev/null 2>&1
}
have chromium-headless-shell && exit 0
whole=no
for name in chromium chromium-browser google-chrome; do
    if have "$name"; then
        whole=yes
    fi
done
on_debian=no
if have apt-get && grep -qx 'ID=debian' /etc/os-release 2>/dev/null; then
    on_debian=yes
fi
if [ "$whole" = yes ] && { [ "$(id -u)" -ne 0 ] || [ "$on_debian" = no ]; }; then
    exit 0
fi
if [ "$(id -u)" -ne 0 ] || ! have apt-get; then
    echo "there is no Chromium: the tests of the pages will be skipped (Debian: apt-get install chromium-headless-shell)" >&2
    exit 0
fi
echo "installing a Chromium with apt-get, for the tests of the pages" >&2
export DEBIAN_FRONTEND=noninteractive
install="apt-get install -y -qq --no-install-recommends"
if { apt-get update -qq && $install chromium-headless-shell; } || [ "$whole" = yes ]; then
    exit 0
fi
$install chromium || echo "Chromium could not be installed: the tests of the pages will be skipped" >&2
