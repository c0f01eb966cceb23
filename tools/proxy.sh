#!/bin/sh
# The proxy that the walk of docs/operating.md goes through: Debian's nginx, fetched if it is missing and can be. It is
# unpacked into .tools and not installed, since an installed one would begin to serve on this machine.
set -eu
cd "$(dirname "$0")/.."
HERE=.tools/nginx

say() { echo "$1" >&2; }
if PATH=$PATH:/usr/sbin:$HERE/usr/sbin command -v nginx >/dev/null 2>&1; then
    exit 0
fi
without="the page for operators will be walked without a proxy (Debian: apt-get install nginx)"
if ! { command -v apt-get && command -v dpkg-deb; } >/dev/null 2>&1; then
    say "there is no nginx: $without"
    exit 0
fi
say "there is no nginx: fetching Debian's into $HERE, for the walk of the page for operators"
quick="-qq -o Acquire::Retries=0 -o Acquire::http::Timeout=10 -o APT::Sandbox::User=root"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck disable=SC2086
fetch() { (cd "$work" && apt-get $quick download nginx) >/dev/null 2>&1; }
# shellcheck disable=SC2086
if ! fetch && { [ "$(id -u)" -ne 0 ] || ! apt-get $quick update >/dev/null 2>&1 || ! fetch; }; then
    say "nginx could not be fetched: $without"
    exit 0
fi
mkdir -p "$HERE"
dpkg-deb -x "$work"/nginx_*.deb "$HERE"
if ! "$HERE/usr/sbin/nginx" -v >/dev/null 2>&1; then
    rm -rf "$HERE"
    say "nginx needs libraries that are not here: $without"
fi
