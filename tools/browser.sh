#!/bin/sh
# The browser that the tests of the pages drive: Debian's Chromium, installed if it is missing and we may.
set -eu

for name in chromium chromium-browser google-chrome; do
    if command -v "$name" >/dev/null 2>&1; then
        exit 0
    fi
done
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "there is no Chromium: the tests of the pages will be skipped (Debian: apt-get install chromium)" >&2
    exit 0
fi
echo "there is no Chromium: installing it with apt-get, for the tests of the pages" >&2
export DEBIAN_FRONTEND=noninteractive
if ! { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium; }; then
    echo "Chromium could not be installed: the tests of the pages will be skipped" >&2
fi
