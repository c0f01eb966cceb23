#!/bin/sh
# The browser that the tests of the pages drive: Debian's Chromium, installed if it is missing and we may. The one
# without a window is quicker; where a system does not have it, the whole one serves as well.
set -eu

for name in chromium-headless-shell chromium chromium-browser google-chrome; do
    if command -v "$name" >/dev/null 2>&1; then
        exit 0
    fi
done
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "there is no Chromium: the tests of the pages will be skipped (Debian: apt-get install chromium-headless-shell)" >&2
    exit 0
fi
echo "there is no Chromium: installing it with apt-get, for the tests of the pages" >&2
export DEBIAN_FRONTEND=noninteractive
install="apt-get install -y -qq --no-install-recommends"
if ! { apt-get update -qq && { $install chromium-headless-shell || $install chromium; }; }; then
    echo "Chromium could not be installed: the tests of the pages will be skipped" >&2
fi
