#!/bin/bash
# helper.sh ROOT KERNEL OUT: the initrd of the helper system, from an extracted root tree and kernel package.
set -euo pipefail
ROOT=$1 KERNEL=$2 OUT=$3 HERE=$(cd "$(dirname "$0")" && pwd)
W=$(mktemp -d)
trap 'rm -rf "$W"' EXIT
mkdir -p "$W"/{bin,sbin,lib,lib64,dev,proc,sys,mnt,tmp,etc,mods,rescue}

# Follow links inside the tree, never into the machine that builds.
take() {
    local file=$1 target
    while [ -L "$file" ]; do
        target=$(readlink "$file")
        case $target in /*) file=$ROOT$target ;; *) file=$(dirname "$file")/$target ;; esac
    done
    mkdir -p "$(dirname "$2")"
    cp "$file" "$2"
}
take "$ROOT/bin/busybox" "$W/bin/busybox"
for tool in e2fsck resize2fs mke2fs tune2fs dumpe2fs debugfs; do
    if [ -e "$ROOT/sbin/$tool" ]; then take "$ROOT/sbin/$tool" "$W/sbin/$tool"; fi
done
libraries=(libext2fs.so.2 libe2p.so.2 libcom_err.so.2 libblkid.so.1 libuuid.so.1 libss.so.2 libc.so.6)
for library in "${libraries[@]}"; do
    while read -r file; do take "$ROOT/$file" "$W/$file"; done < <(cd "$ROOT" && find . -name "$library")
done
while read -r file; do take "$ROOT/$file" "$W/$file"; done < <(cd "$ROOT" && find . -name 'ld-linux-*')
for loader in lib/ld-linux-aarch64.so.1 lib64/ld-linux-x86-64.so.2; do
    if [ -e "$ROOT/$loader" ]; then take "$ROOT/$loader" "$W/$loader"; fi
done

. "$HERE/modules.sh"
modules "$KERNEL" "$W/mods" virtio_pci virtio_blk ext4
modules "$KERNEL" "$W/rescue" button evdev
cp "$HERE/helper-init" "$W/init"
chmod 755 "$W/init"
cd "$W"
find . -print0 | xargs -0r touch -hd "@${SOURCE_DATE_EPOCH:-0}"
find . -print0 | LC_ALL=C sort -z | cpio --null -o -H newc --reproducible -R 0:0 --quiet | gzip -n6 > "$OUT"
