#!/usr/bin/env bash
# Builds the archive for applications in C and C++, dist/smelt-VERSION-linux-MACHINE.tar.xz: libsmelt.so, libsmelt_compiler.so,
# libsmelt_runtime.a with the archives that it needs, headers, CMake package, pkg-config files, examples and licences.
#
# Usage: scripts/sdk.sh
#   It builds in build-wheel/, the folder of scripts/wheel.sh, whose objects it uses.
# The last lines are the newest versions of the C library's symbols that its libraries need, the size, and the archive.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bash scripts/install-packages.sh build
[ -f build-wheel/build.ninja ] || cmake --preset package
ninja -C build-wheel smelt_shared smelt_compiler_shared

version=$(sed -nE 's/^project\(smelt VERSION ([0-9.]+).*/\1/p' CMakeLists.txt)
name=smelt-$version-linux-$(uname -m)
root=$PWD/build-wheel/sdk
rm -rf "$root"
for component in runtime compiler; do
  cmake --install build-wheel --prefix "$root/$name" --component "$component" --strip >/dev/null
done
cp -r examples/embed "$root/$name/share/smelt/examples"
cp packaging/sdk/README.md "$root/$name/"

mkdir -p dist
archive=dist/$name.tar.xz
tar -C "$root" --owner=0 --group=0 --sort=name -c "$name" | xz -T0 -4 >"$archive"
for library in "$root/$name"/lib/libsmelt*.so; do
  echo "$(basename "$library") $(objdump -T "$library" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1)"
done
stat -c '%s bytes' "$archive"
echo "$archive"
