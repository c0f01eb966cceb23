#!/bin/sh
# What the soak piece `container` needs: Debian's buildah and podman, and a base image in a storage of its own.
#   tools/container.sh FOLDER BASE     makes the image BASE in FOLDER/root, from Debian's packages
# An empty FOLDER installs the programs only. Everything is done as root, on Debian.
set -eu
folder=$1 base=${2:-}

say() { echo "$1" >&2; }
missing=""
for tool in buildah podman runc mmdebstrap; do
    command -v "$tool" >/dev/null 2>&1 || missing="$missing $tool"
done
if [ -n "$missing" ]; then
    if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
        say "missing:$missing. The image is not built (Debian, as root: apt-get install$missing)"
        exit 1
    fi
    say "missing:$missing. Installing them with apt-get"
    # shellcheck disable=SC2086
    apt-get -qq install -y --no-install-recommends $missing >/dev/null
fi
[ -n "$folder" ] || exit 0

store="buildah --root $folder/root --runroot $folder/run --storage-driver vfs"
$store inspect --type image "$base" >/dev/null 2>&1 && exit 0
mkdir -p "$folder"
mmdebstrap --quiet --variant=minbase --components=main \
    --include=ca-certificates,python3,python3-pip,python3-venv,python-is-python3 bookworm "$folder/base.tar"
made=$($store from scratch)
$store add "$made" "$folder/base.tar" / >/dev/null
# Certificates that this machine trusts besides Debian's, for the downloads of the build.
certificates=/etc/ssl/certs/ca-certificates.crt
$store copy "$made" "$certificates" "$certificates" >/dev/null
$store config --env "SSL_CERT_FILE=$certificates" --env "NODE_EXTRA_CA_CERTS=$certificates" \
    --env PIP_BREAK_SYSTEM_PACKAGES=1 "$made"
$store commit --quiet --rm "$made" "$base" >/dev/null
rm "$folder/base.tar"
