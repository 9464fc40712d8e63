# To be sourced: python_with MODULE=PACKAGE... prints a python that has these modules: $PYTHON, python3, or one in a
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
