#!/usr/bin/env bash
# Installs the Debian packages that Smelt is built from, where they are missing. What is there is left alone.
#
# Usage: scripts/install-packages.sh [build|run|tests|docs|book|wheels|first|all]
#   build: compiler and runtime   run: the libraries that a built program `smelt` needs   tests: what tests/run.sh adds
#   docs: the site   book: the text of examples/quickstart.sh   wheels: PyTorch and others that Python's tests import
#   all: build, tests, docs and wheels   first: all but the wheels, which are gigabytes that no build needs
set -euo pipefail

build=(g++ cmake ninja-build pkg-config llvm-19-dev liblld-19-dev libfmt-dev nlohmann-json3-dev libcli11-dev
       libboost-dev libopenblas-openmp-dev libpcre2-dev libutf8proc-dev libbenchmark-dev zlib1g-dev libzstd-dev
       libsnappy-dev libjpeg-dev libpng-dev git)
tests=(libgtest-dev clang-19 clang-format-19 clang-tidy-19 clang-tools-19 libclang-rt-19-dev
       libclang-common-19-dev python3 chromium)
run=(libllvm19 libfmt9 libopenblas0-openmp libpcre2-8-0 libutf8proc2 zlib1g libzstd1 libsnappy1v5 libjpeg62-turbo libpng16-16
     libgomp1)
docs=(python3-sphinx python3-numpy python3-myst-parser furo doxygen python3-breathe)
optional=(graphviz ccache python3-venv python3-dev libpolly-19-dev)  # the last two: for the Python package

case "${1:-build}" in
  build) wanted=("${build[@]}") ;;
  tests) wanted=("${tests[@]}") ;;
  all | first) wanted=("${build[@]}" "${tests[@]}" "${docs[@]}") ;;
  run) wanted=("${run[@]}") optional=() ;;
  docs) wanted=("${docs[@]}") optional=() ;;
  book) wanted=(bible-kjv) optional=() ;;
  wheels) wanted=() optional=(python3-venv python3-dev) ;;
  *) echo "usage: $0 [build|run|tests|docs|book|wheels|first|all]" >&2; exit 2 ;;
esac

installed() { dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q 'install ok installed'; }
missing_of() { for package in "$@"; do installed "$package" || echo "$package"; done; }

install_debian() {
  local missing extras root package
  mapfile -t missing < <(missing_of "${wanted[@]}")
  mapfile -t extras < <(missing_of "${optional[@]}")
  [ ${#missing[@]} -eq 0 ] && [ ${#extras[@]} -eq 0 ] && return

  root=()
  if [ "$(id -u)" -ne 0 ]; then
    if command -v sudo >/dev/null; then root=(sudo); fi
    if [ ${#root[@]} -eq 0 ]; then
      [ ${#missing[@]} -eq 0 ] && return
      echo "error: missing packages, and neither root nor sudo to install them: ${missing[*]}" >&2
      exit 1
    fi
  fi
  apt_get() { ${root[@]+"${root[@]}"} env DEBIAN_FRONTEND=noninteractive apt-get "$@"; }

  apt_get update -qq
  if [ ${#missing[@]} -gt 0 ]; then
    echo "installing: ${missing[*]}" >&2
    apt_get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
  fi
  for package in ${extras[@]+"${extras[@]}"}; do
    apt_get install -y -qq --no-install-recommends "$package" >/dev/null || echo "note: $package is not available" >&2
  done
}

# The environment of Python's tests.
home=$(dirname "${BASH_SOURCE[0]}")/../build/python-venv
versions=$(dirname "${BASH_SOURCE[0]}")/python-packages.txt

# The packages for building and testing the Python package.
install_python() {
  [ -x "$home/bin/python" ] || python3 -m venv "$home" >/dev/null 2>&1 || echo "note: no environment for Python's packages" >&2
  install_wheels "the Python package" nanobind numpy pytest
  install_wheels "structured output" jsonschema
  install_wheels "Parquet and Arrow files" pyarrow
  "$home/bin/python" -c "import PIL" 2>/dev/null || pip_install 'pillow>=13' || echo "note: without pillow images are not tested" >&2
  "$home/bin/python" -c "import xdist" 2>/dev/null || pip_install pytest-xdist ||
    echo "note: without pytest-xdist Python's tests run one after the other" >&2
}
# The packages that its importers import.
install_frameworks() {
  install_wheels "the import of ONNX models" onnx ml_dtypes
  install_wheels "the import of modules of PyTorch" torch transformers expecttest
  install_wheels "the reading of quantised weights" gguf bitsandbytes compressed_tensors
  install_wheels "training against transformers' Trainer" accelerate
  install_wheels "event files and BLEU against their packages" tensorboard sacrebleu
}
# install_wheels WHAT PACKAGE...: into the environment.
install_wheels() {
  local what=$1
  shift
  "$home/bin/python" -c "import $(IFS=,; echo "$*")" 2>/dev/null || pip_install "$@" ||
    echo "note: no environment with $*: $what is not tested" >&2
}
# In the versions of the list, or, where one is not there for this Python, any. Modules are compiled when they are first
# imported, which most never are.
pip_install() {
  "$home/bin/pip" install -q --no-compile -c "$versions" "$@" >/dev/null 2>&1 && return
  echo "note: $* in other versions than those of $versions" >&2
  "$home/bin/pip" install -q --no-compile "$@" >/dev/null 2>&1
}

install_debian
case "${1:-build}" in tests | first | wheels | all) install_python ;; esac
case "${1:-build}" in tests | wheels | all) install_frameworks ;; esac
