#!/bin/sh
# Builds one version of the toy compiler as a folder that lies over the guest's root.
# usage: build.sh VERSION FOLDER
set -eu
here=$(dirname "$0")
version=$1
folder=$2
if [ -e "$folder/opt/compiler" ] && [ "$folder/opt/compiler" -nt "$here/compiler.rs" ]; then
    exit 0
fi
mkdir -p "$folder/opt"
COMPILER_VERSION=$version rustc --edition 2021 -O -C target-feature=+crt-static -C panic=abort \
    -C strip=symbols --remap-path-prefix "$here=." -o "$folder/opt/compiler" "$here/compiler.rs"
