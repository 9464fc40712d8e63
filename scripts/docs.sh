#!/usr/bin/env bash
# Builds the documentation as a site: build/docs/html/index.html. A warning, such as a link that leads nowhere, is an error.
#
# Usage: scripts/docs.sh [SMELT]      SMELT: the program whose help and tables are shown, else build/smelt
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bash scripts/install-packages.sh docs
smelt=${1:-build/smelt}
[ -x "$smelt" ] || { echo "docs.sh: $smelt is not built: ninja -C build smelt" >&2; exit 1; }

python3 docs/bench/tables.py --check
pages=$PWD/build/docs/pages
rm -rf build/docs
mkdir -p "$pages" build/docs/doxygen
cp -r docs/. "$pages"
python3 docs/generate.py "$smelt" "$pages/reference"
doxygen - >/dev/null <<END
PROJECT_NAME = Smelt
INPUT = runtime/smelt.h compiler/c_api/smelt_compile.h
OUTPUT_DIRECTORY = build/docs/doxygen
GENERATE_HTML = NO
GENERATE_LATEX = NO
GENERATE_XML = YES
OPTIMIZE_OUTPUT_FOR_C = YES
TYPEDEF_HIDES_STRUCT = YES
JAVADOC_AUTOBRIEF = YES
EXTRACT_ALL = YES
QUIET = YES
END
SMELT_DOXYGEN_XML=$PWD/build/docs/doxygen/xml PYTHONPATH=$PWD/compiler/python \
  sphinx-build -q -W --keep-going -c docs -b html "$pages" build/docs/html
echo "build/docs/html/index.html"
