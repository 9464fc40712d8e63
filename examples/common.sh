# To be sourced by examples that train: options, build, python.

# read_options FILE FIRST LAST "$@": sets run_dir from --run-dir and collects all other options; --help shows lines
# FIRST to LAST of FILE. An example with options of its own has a function own_option NAME VALUE that takes those it
# knows.
read_options() {
  local file=$1 first=$2 last=$3
  shift 3
  options=()
  while [ $# -gt 0 ]; do
    case "$1" in
      --run-dir) run_dir=$2; shift 2 ;;
      -h | --help) sed -n "${first},${last}s/^# \{0,1\}//p" "$file"; exit 0 ;;
      *) if declare -F own_option >/dev/null && own_option "$1" "${2:-}"; then shift 2; else options+=("$1"); shift; fi ;;
    esac
  done
}

# Builds build/smelt unless $SMELT names one; sets smelt.
build_smelt() {
  if [ -z "${SMELT:-}" ]; then
    echo "== packages and build" >&2
    bash scripts/install-packages.sh build
    cmake --preset release -DSMELT_TESTS=OFF -DSMELT_BENCH=OFF >/dev/null
    ninja -C build smelt
  fi
  smelt=${SMELT:-build/smelt}
}

# python_with MODULE=PACKAGE... prints a python that has these modules: $PYTHON, python3, or one in a
# virtual environment (runs/venv) that the packages are installed into.
python_with() {
  local pair imports="" packages=() python
  for pair in "$@"; do
    imports+="import ${pair%%=*};"
    packages+=("${pair##*=}")
  done
  for python in "${PYTHON:-python3}" runs/venv/bin/python; do
    if "$python" -c "$imports" 2>/dev/null; then
      echo "$python"
      return
    fi
  done
  [ -x runs/venv/bin/python ] || python3 -m venv runs/venv >&2
  runs/venv/bin/python -m pip install --quiet --disable-pip-version-check "${packages[@]}" >&2
  echo runs/venv/bin/python
}
