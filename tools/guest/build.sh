#!/bin/bash
# build.sh [FOLDER [ARCHITECTURE]]: the helper system, and a tiny guest to try hosts with, from Debian's packages alone.
#
# Packages are only unpacked: no root, no chroot, nothing foreign is run, so a guest for another processor can be built
# here. FOLDER becomes a folder of media as crofter reads it: helper/, kernels/default/, and tiny.qcow2 for
# `crofter admin images import`. Debian packages that it needs: mmdebstrap uidmap e2fsprogs cpio kmod qemu-utils.
set -euo pipefail
OUT=${1:-./media} ARCH=${2:-$(dpkg --print-architecture)} SUITE=${SUITE:-bookworm} SIZE=${SIZE:-256}
MIRROR=${MIRROR:-http://deb.debian.org/debian} SECURITY=${SECURITY:-http://deb.debian.org/debian-security}
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-1700000000} LC_ALL=C.UTF-8 TZ=UTC
HERE=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$OUT/helper" "$OUT/kernels/default" "$OUT/images"
OUT=$(cd "$OUT" && pwd)
W=$(mktemp -d "${TMPDIR:-/var/tmp}/guest.XXXXXX")
trap 'rm -rf "$W"' EXIT
chmod 755 "$W"
MODE=$([ "$(id -u)" = 0 ] && echo root || echo unshare)

# The closure of four packages, and the kernel's package alone.
# shellcheck disable=SC2016
FETCH='cd "$1" && mkdir -p kernel && cd kernel && export APT_CONFIG=$MMDEBSTRAP_APT_CONFIG
K=$(apt-cache depends linux-image-cloud-'"$ARCH"' | awk "/Depends: linux-image/{print \$2; exit}")
apt-get -o APT::Sandbox::User=root download "$K" >&2'
mmdebstrap --quiet --mode="$MODE" --variant=extract --architectures="$ARCH" --components=main \
    --include=busybox-static,dropbear-bin,e2fsprogs,qemu-guest-agent --extract-hook="$FETCH" \
    "$SUITE" "$W/root.tar" "deb $MIRROR $SUITE main" "deb $SECURITY $SUITE-security main" 2> "$W/log" \
    || { tail -20 "$W/log" >&2; exit 1; }

export W OUT HERE SIZE
if [ "$(id -u)" = 0 ]; then bash "$HERE/pack.sh"; else unshare -r bash "$HERE/pack.sh"; fi
qemu-img convert -q -f raw -O qcow2 -c -o compression_type=zstd "$W/disk.raw" "$OUT/tiny.qcow2"
(cd "$OUT" && sha256sum helper/* kernels/default/* tiny.qcow2 > SHA256SUMS && cat SHA256SUMS)
