#!/usr/bin/env bash
# Installs the wheel and runs programs of the SDK in a clean Debian 12 that has Python, but no compiler and no other package.
# Checks which libraries the files of both need, and their licences. Checks how long the installation and `import smelt` take, a
# plan on the CPU, the command `smelt`, kernels for a GPU by NVRTC of its Python package, and the commands of
# packaging/Containerfile. Needs root, debootstrap, and the package registries.
#
# Usage: tests/packages_test.sh     after scripts/wheel.sh with a Python 3.11, and scripts/sdk.sh
#   SMELT_CHROOT=FOLDER   a Debian 12 to copy, in place of a new one by debootstrap
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ -n "${SMELT_OWN_MOUNTS:-}" ] || SMELT_OWN_MOUNTS=1 exec unshare --mount bash "$0" "$@"  # those of this script end with it

fail() { echo "packages_test: $*" >&2; exit 1; }
newest() { { ls -t "$@" 2>/dev/null || true; } | head -n 1; }  # empty where no file is

model=tests/goldens/gpt2
answer="112, 26, 32, 13, 39, 124, 79, 49"
wheel=$(newest dist/smelt_compiler-*-cp311-cp311-*.whl) archive=$(newest dist/smelt-*-linux-*.tar.xz)
[ -n "$wheel" ] || fail "no wheel for Python 3.11 in dist/: run scripts/wheel.sh /usr/bin/python3"
[ -n "$archive" ] || fail "no SDK in dist/: run scripts/sdk.sh"
work=$(mktemp -d)
trap 'umount -R "$work/root/proc" "$work/root/dev" 2>/dev/null || true; rm -rf --one-file-system "$work"' EXIT
root=$work/root

# ---- what the packages contain

# check_contents NAME FOLDER LICENCES: libraries that ELF files in FOLDER need, and one licence for each package of smelt_bundled.
check_contents() {
  local file needed expected found
  while IFS= read -r file; do
    needed=$(objdump -p "$file" | awk '$1 == "NEEDED" { print $2 }' | grep -vxE "$allowed" | xargs || true)
    [ -z "$needed" ] || fail "$1: ${file#"$2"/} needs $needed, which are not part of glibc or of the package"
  done < <(elf_files "$2")
  [ "$(elf_files "$2" | wc -l)" -ge 2 ] || fail "$1: $(elf_files "$2" | wc -l) ELF files, at least 2 were expected"
  expected=$(sed -n '/^set(smelt_bundled/,/)/p' cmake/licenses.cmake | sed 's/^set(smelt_bundled//; s/)//' | wc -w)
  found=$(find "$3" -name '*.txt' -size +0 | wc -l)
  [ "$found" = "$expected" ] || fail "$1: $found licences, $expected were expected (smelt_bundled in cmake/licenses.cmake)"
  echo "$1: $found licences; ELF files need only libraries of glibc and of the package"
}
# The libraries of glibc, and OpenMP's, which the packages bring along.
allowed='lib(c|m|dl|rt|pthread)\.so\.[0-9]+|ld-linux-[a-z0-9_-]+\.so\.[0-9]+|libgomp\.so\.1'
elf_files() {
  find "$1" -type f -size +0 -exec sh -c 'for file; do [ "$(head -c 4 "$file" | tail -c 3)" != ELF ] || echo "$file"; done' sh {} +
}

mkdir "$work/sdk" "$work/wheel"
python3 -m zipfile -e "$wheel" "$work/wheel"
tar -C "$work/sdk" -xf "$archive"
sdk=$(echo "$work"/sdk/smelt-*)
check_contents wheel "$work/wheel" "$work/wheel/smelt/licenses"
check_contents SDK "$sdk" "$sdk/share/smelt/licenses"

# ---- the clean system

make_system() {
  if [ -n "${SMELT_CHROOT:-}" ]; then
    cp -a "$SMELT_CHROOT" "$root"
  else
    command -v debootstrap >/dev/null || apt-get install -y -qq --no-install-recommends debootstrap >/dev/null
    debootstrap --variant=minbase --include=python3,python3-venv,ca-certificates bookworm "$root" >"$work/debootstrap.log" ||
      fail "debootstrap: $(tail -n 3 "$work/debootstrap.log")"
  fi
  # The way to the registries is that of this system.
  cp /etc/resolv.conf "$root/etc/"
  cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
  [ ! -f /etc/pip.conf ] || cp /etc/pip.conf "$root/etc/"
  mkdir -p "$root/dist" "$root/tests/goldens" "$root/examples"
  cp "$wheel" "$root/dist/"
  cp -r "$model" "$root/tests/goldens/"
  mount -t proc proc "$root/proc"
  mount --rbind /dev "$root/dev"
}
# inside COMMAND...: in the clean system, with nothing of this one's environment but proxies.
inside() {
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 PIP_DISABLE_PIP_VERSION_CHECK=1 \
    ${https_proxy:+https_proxy="$https_proxy"} ${http_proxy:+http_proxy="$http_proxy"} chroot "$root" "$@"
}
make_system
for tool in cc gcc c++ ld; do
  ! inside which $tool >/dev/null || fail "the clean system has $tool"
done

# ---- the wheel

inside python3 -m venv /venv
begin=$SECONDS
inside /venv/bin/pip install -q "/dist/$(basename "$wheel")" numpy
installed=$((SECONDS - begin))
echo "pip install: $installed s, $(du -sm "$root"/venv/lib/python3*/site-packages/smelt | cut -f1) MB of smelt"
[ $installed -le 60 ] || fail "pip install took $installed s, at most 60 may be"

# seconds_of_import FIRST: the median of nine processes that import FIRST, and then smelt.
seconds_of_import() {
  for _ in 1 2 3 4 5 6 7 8 9; do
    inside /venv/bin/python -c "import $1, time
begin = time.perf_counter()
import smelt
print('%.3f' % (time.perf_counter() - begin))"
  done | sort -n | sed -n 5p
}
for first in sys numpy; do
  seconds=$(seconds_of_import $first)
  echo "import smelt: $seconds s after import $first"
  awk "BEGIN { exit !($seconds <= 0.3) }" || fail "import smelt takes $seconds s, at most 0.3 may be"
done

cat >"$root/app.py" <<'END'
import numpy, smelt
plan = smelt.compile("/tests/goldens/gpt2", mode="infer", max={"B": 4, "T": 64})
session = plan.session()
ids = numpy.array([[3, 1, 4, 1, 5]], dtype=numpy.int32)
assert numpy.from_dlpack(session.run("logits", input_ids=ids)["logits"]).shape == (1, 5, 131)
print(session.generate(ids, max_new_tokens=8))
END
said=$(inside /venv/bin/python /app.py)
[[ $said == *"$answer"* ]] || fail "a plan in Python: expected $answer, got: $said"
inside /venv/bin/smelt compile /$model --mode=infer -o /model.plan >/dev/null
said=$(inside /venv/bin/smelt generate /model.plan --weights /$model --ids "3 1 4 1 5" --max-new-tokens 8 2>&1)
[[ $said == *"3 1 4 1 5 ${answer//,/}"* ]] || fail "smelt generate: $said"
version=$(inside /venv/bin/smelt --version)
said=$(inside /venv/bin/smelt launch -n 2 -- smelt --version 2>&1 | sed 's/^rank [0-9]*: //' | sort | uniq -c | xargs)
[ "$said" = "2 $version" ] || fail "smelt launch: expected $version of two ranks, got: $said"
echo "wheel: a plan of the CPU in Python and by the command"

# NVRTC of its Python package compiles kernels, without a GPU and without the CUDA toolkit.
inside /venv/bin/pip install -q "nvidia-cuda-nvrtc>=13"
inside /venv/bin/smelt compile /$model --mode=infer --target sm_90 -o /gpu.plan | grep sm_90 ||
  fail "no plan for sm_90 with NVRTC of its Python package"

# ---- the SDK

mkdir "$work/elsewhere"
awk '/^```$/ && on { exit } on { print } /^```c$/ { on = 1 }' docs/guides/embedding.md >"$work/elsewhere/app.c"
cd "$work/elsewhere"
export PKG_CONFIG_PATH=$sdk/lib/pkgconfig
# shellcheck disable=SC2046
cc app.c -o app $(pkg-config --cflags --libs libsmelt)
# shellcheck disable=SC2046
c++ -std=c++20 "$sdk/share/smelt/examples/generate.cpp" -o by_pkg_config $(pkg-config --cflags --libs smelt)
cmake -S "$sdk/share/smelt/examples" -B build -DCMAKE_PREFIX_PATH="$sdk" -DCMAKE_BUILD_TYPE=Release >cmake.log || fail "$(cat cmake.log)"
cmake --build build >cmake.log || fail "$(tail -n 20 cmake.log)"
grep -q "$sdk" build/CMakeCache.txt || fail "CMake found another Smelt"
mkdir -p "$root/opt/app"
cp "$sdk"/lib/libsmelt.so.* "$sdk"/lib/libsmelt_compiler.so.* "$sdk"/lib/libgomp.so.1 app by_pkg_config build/embed_* "$root/opt/app/"

run() { inside env LD_LIBRARY_PATH=/opt/app "/opt/app/$@"; }
said=$(run app /model.plan /$model)
[ "$said" = "logits [1,5,131]" ] || fail "the program of docs/guides/embedding.md: $said"
for program in embed_c embed_cpp embed_shared embed_batch by_pkg_config; do
  said=$(run "$program" /model.plan /$model/model.safetensors 8 3 1 4 1 5)
  [[ $said == *"${answer//,/}"* ]] || fail "$program: $said"
done
run embed_compile /$model /compiled.plan >/dev/null || fail "embed_compile"
echo "SDK: programs in C and C++, built from the unpacked archive, run where there is no other package"

# ---- the commands of the Containerfile

cd "$OLDPWD"
mkdir -p "$root/container"
cp "$wheel" "$root/tmp/"
sed -n 's/^RUN //p' packaging/Containerfile >"$root/container/commands"
while IFS= read -r command; do
  inside env PATH=/opt/smelt/bin:/usr/sbin:/usr/bin:/sbin:/bin EXTRAS="" DEBIAN_FRONTEND=noninteractive \
    bash -c "$command" >"$work/container.log" 2>&1 </dev/null || fail "Containerfile: $command: $(tail -n 5 "$work/container.log")"
done <"$root/container/commands"
echo "Containerfile: $(wc -l <"$root/container/commands") commands"
echo "packages_test: passed"
