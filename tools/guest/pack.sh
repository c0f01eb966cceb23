#!/bin/bash
# Run by build.sh, as root or as somebody who looks like it: the files in the image belong to root.
set -euo pipefail
cd "$W"
mkdir root kernel initrd
tar -C root --no-same-owner --exclude='./dev/*' -xf root.tar
dpkg-deb -x root/kernel/linux-image-*.deb kernel
rm -rf root/kernel
cp kernel/boot/vmlinuz-* "$OUT/kernels/default/vmlinuz"
cp "$OUT/kernels/default/vmlinuz" "$OUT/helper/vmlinuz"
depmod -b kernel "$(ls kernel/lib/modules)" 2>/dev/null || true
bash "$HERE/helper.sh" "$W/root" "$W/kernel" "$OUT/helper/initrd.img"

# What a guest that only tries hosts does not need.
rm -rf root/usr/share/{doc,man,locale,info,lintian,bash-completion,zsh,perl*,zoneinfo} root/var/{cache,lib/apt,lib/dpkg,log}/* \
    root/usr/lib/*/perl* root/usr/lib/*/{gconv,audit} root/usr/bin/perl* root/boot root/usr/lib/udev/hwdb.d

# Its initrd: the drivers of virtual hardware, and the way to the root file system.
mkdir -p initrd/{bin,dev,proc,sys,mnt,lib}
cp root/bin/busybox initrd/bin/busybox
. "$HERE/modules.sh"
modules "$W/kernel" "$W/initrd/lib" virtio_pci virtio_mmio virtio_blk virtio_net virtio_console virtio-rng evdev button \
    isofs ext4 fat vfat nls_ascii nls_cp437
cp "$HERE/initrd-init" initrd/init
chmod 755 initrd/init
(
    cd initrd
    find . -print0 | xargs -0r touch -hd "@$SOURCE_DATE_EPOCH"
    find . -print0 | LC_ALL=C sort -z | cpio --null -o -H newc --reproducible --quiet -R 0:0 | gzip -n9
) > "$OUT/kernels/default/initrd.img"

# Its root file system.
cd root
mkdir -p proc sys dev run tmp root/.ssh etc/dropbear etc/network var/log var/run mnt
chmod 700 root root/.ssh
chmod 1777 tmp
for name in sh ash mount umount ls cat cp mv rm mkdir ip ifconfig route udhcpc getty login init poweroff reboot halt \
    hostname ps dd sync sleep df free uname grep sed awk head tail sha256sum md5sum id chpasswd passwd vi nc ping wget \
    ln chmod chown date dmesg kill killall stty tee touch true tr wc xargs env find hexdump od switch_root sysctl tar \
    test cut sort uptime who logger; do
    [ -e "bin/$name" ] || [ -e "usr/bin/$name" ] || [ -e "sbin/$name" ] || ln -s /bin/busybox "bin/$name"
done
mkdir -p sbin
for name in init poweroff reboot halt getty; do
    rm -f "sbin/$name"
    ln -s ../bin/busybox "sbin/$name"
done
cp -r --preserve=mode "$HERE/overlay/etc/." etc/
cp -r --preserve=mode "$HERE/overlay/sbin/." sbin/
chmod 755 etc/rcS sbin/shutdown
chmod 600 etc/shadow
ldconfig -r . 2>/dev/null || true
rm -rf var/cache/ldconfig
find . -print0 | xargs -0r touch -hd "@$SOURCE_DATE_EPOCH"
cd ..
truncate -s "${SIZE}M" disk.raw
ID=11111111-2222-3333-4444-555555555555
export E2FSPROGS_FAKE_TIME=$SOURCE_DATE_EPOCH
# Blocks as in images of this decade: with the small ones that so small a disk would get, it would have thousands of
# groups when it has grown to the size of an instance's, and every look at them takes seconds.
mke2fs -q -t ext4 -T default -b 4096 -L tinyroot -U $ID -E "hash_seed=$ID,lazy_itable_init=1,nodiscard" -m 0 -I 256 \
    -O ^metadata_csum_seed -d root disk.raw
# Before its version 1.47.1, mke2fs keeps when a file was really changed: the same packages would give another image.
LAST=$(dumpe2fs -h disk.raw 2>/dev/null | awk -F: '/^Inode count/{all=$2} /^Free inodes/{free=$2} END{print all-free}')
for inode in 2 $(seq 11 "$LAST"); do
    for field in ctime atime mtime crtime; do
        echo "sif <$inode> $field @$SOURCE_DATE_EPOCH"
        echo "sif <$inode> ${field}_extra 0"
    done
done > times
debugfs -w -f times disk.raw > /dev/null 2>&1
