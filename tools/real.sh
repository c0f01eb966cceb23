#!/bin/sh
# What tests with real machines need: QEMU and libvirt of Debian, installed if they are missing and we may, and a guest.
set -eu
MEDIA=${CROFTER_TEST_MEDIA:-/var/tmp/crofter-media}
HERE=$(cd "$(dirname "$0")" && pwd)

say() { echo "$1" >&2; }
missing=
for tool in libvirtd qemu-img mmdebstrap mke2fs cpio sshpass; do
    PATH=$PATH:/usr/sbin:/sbin command -v "$tool" >/dev/null 2>&1 || missing="$missing $tool"
done
case $(uname -m) in
    aarch64) qemu="qemu-system-arm qemu-efi-aarch64" emulator=qemu-system-aarch64 ;;
    *) qemu="qemu-system-x86 seabios" emulator=qemu-system-x86_64 ;;
esac
command -v $emulator >/dev/null 2>&1 || missing="$missing $emulator"
if [ -n "$missing" ]; then
    if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
        say "missing:$missing. Tests with real machines will be skipped; docs/hosts.md says what to install"
        exit 0
    fi
    say "missing:$missing. Installing QEMU and libvirt with apt-get, for the tests with real machines"
    export DEBIAN_FRONTEND=noninteractive
    # shellcheck disable=SC2086
    if ! { apt-get update -qq && apt-get install -y -qq --no-install-recommends $qemu qemu-utils libvirt-daemon \
        libvirt-daemon-driver-qemu python3-libvirt mmdebstrap uidmap e2fsprogs cpio kmod openssh-client sshpass; }; then
        say "they could not be installed: tests with real machines will be skipped"
        exit 0
    fi
    apt-get install -y -qq --no-install-recommends libvirt-daemon-driver-storage >/dev/null 2>&1 || true
fi
# Anew when it is built in another way than the one that is there.
SOURCES=$(cd "$HERE/guest" && find . -type f | LC_ALL=C sort | xargs cat | sha256sum | cut -d' ' -f1)
if [ ! -e "$MEDIA/SHA256SUMS" ] || [ "$(cat "$MEDIA/built-from" 2>/dev/null)" != "$SOURCES" ]; then
    say "building the guest in $MEDIA"
    if bash "$HERE/guest/build.sh" "$MEDIA"; then
        rm -f "$MEDIA"/images/*
        echo "$SOURCES" > "$MEDIA/built-from"
    else
        say "it could not be built: tests with real machines will be skipped, or run with an older one"
    fi
fi
