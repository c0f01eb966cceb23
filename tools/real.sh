#!/bin/sh
# What tests with real machines need: QEMU and libvirt of Debian, installed if they are missing and we may, and a guest.
# Whatever goes wrong here costs those tests alone: it is said in a line, and nothing else fails for it.
set -u
MEDIA=${CROFTER_TEST_MEDIA:-/var/tmp/crofter-media}
HERE=$(cd "$(dirname "$0")" && pwd)
PATH=$PATH:/usr/sbin:/sbin
LOG=$(mktemp) || exit 0
NEW=
trap 'rm -rf "$LOG" ${NEW:+"$NEW"}' EXIT
trap 'exit 0' INT TERM

say() { echo "$1" >&2; }
without() {
    say "$1: tests with real machines will be skipped (docs/hosts.md says what they need)"
    grep -E '^(E:|dpkg: error)' "$LOG" | head -3 >&2
    exit 0
}

case $(uname -m) in
    aarch64) qemu="qemu-system-arm qemu-efi-aarch64" emulator=qemu-system-aarch64 ;;
    *) qemu="qemu-system-x86 seabios" emulator=qemu-system-x86_64 ;;
esac
packages="$qemu qemu-utils libvirt-daemon libvirt-daemon-driver-qemu python3-libvirt mmdebstrap uidmap e2fsprogs cpio kmod"
packages="$packages openssh-client sshpass iproute2 iptables ebtables"

missing() {
    for tool in $emulator libvirtd qemu-img mmdebstrap mke2fs cpio depmod ssh-keygen sshpass ip iptables ebtables; do
        command -v "$tool" >/dev/null 2>&1 || printf ' %s' "$tool"
    done
}

# What is fetched may take its time and be broken off; what is unpacked may not, or the system would be left half done.
install() {
    export DEBIAN_FRONTEND=noninteractive
    quick="-y -qq --no-install-recommends -o DPkg::Lock::Timeout=60 -o Acquire::Retries=1 -o Acquire::http::Timeout=20"
    # shellcheck disable=SC2086
    {
        timeout 120 apt-get $quick update || return 1
        # A package of its own since Debian 13.
        if apt-cache show libvirt-daemon-driver-storage; then packages="$packages libvirt-daemon-driver-storage"; fi
        timeout 240 apt-get $quick --download-only install $packages || return 1
        timeout 600 apt-get $quick --no-download install $packages
    } >"$LOG" 2>&1 </dev/null
}

lacking=$(missing)
if [ -n "$lacking" ]; then
    if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
        without "missing:$lacking"
    fi
    say "missing:$lacking. Installing QEMU and libvirt with apt-get, for the tests with real machines"
    install || without "they could not be installed"
fi

# Anew when it is built in another way than the one that is there, beside that one and then in its place: a test that
# runs meanwhile reads the one or the other. Whoever comes second waits, and has nothing left to build.
SOURCES=$(cd "$HERE/guest" && find . -type f | LC_ALL=C sort | xargs cat | sha256sum | cut -d' ' -f1)
is_built() { [ -e "$MEDIA/SHA256SUMS" ] && [ "$(cat "$MEDIA/built-from" 2>/dev/null)" = "$SOURCES" ]; }
build() {
    timeout 540 flock 9 || return 1
    is_built && return
    say "building the guest in $MEDIA"
    NEW=$MEDIA.$$
    timeout -k 10 480 bash "$HERE/guest/build.sh" "$NEW" >"$LOG" 2>&1 </dev/null || return 1
    echo "$SOURCES" >"$NEW/built-from"
    rm -rf "$MEDIA" && mv "$NEW" "$MEDIA"
}
if ! is_built && ! build 9>"$MEDIA.lock"; then
    [ -e "$MEDIA/SHA256SUMS" ] || without "the guest could not be built"
    say "the guest could not be built: tests with real machines will run with an older one"
fi

PYTHON=$HERE/../.venv/bin/python
if [ -x "$PYTHON" ]; then
    why=$(cd "$HERE/.." && "$PYTHON" -c 'from tests.drivers.real import why_not; print(why_not() or "")' 2>/dev/null)
    [ -z "$why" ] || without "$why"
fi
