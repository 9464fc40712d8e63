#!/bin/bash
# Installs the runtime into a temporary prefix, builds examples/embed against it as an outsider would (CMake package
# and pkg-config), runs a freshly compiled plan in C++ and C, also with the shared library, chats with it, and checks that no
# LLVM is in the process and that shared libraries export their interface alone.
#   tests/embed_test.sh [BUILD_DIRECTORY]
set -euo pipefail
source_dir=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${1:-$source_dir/build}" && pwd)
model=$source_dir/tests/goldens/gpt2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "embed_test: $*" >&2; exit 1; }

cmake --install "$build" --prefix "$work/prefix" --component runtime >/dev/null
libraries=$(dirname "$(find "$work/prefix" -name libsmelt_runtime.a)")
[ -e "$libraries/libsmelt.so" ] || fail "no libsmelt.so beside libsmelt_runtime.a"
[ -e "$libraries/libsmelt_compiler.so" ] && fail "the component runtime brings the compiler"
cmake --install "$build" --prefix "$work/prefix" --component compiler >/dev/null
cmake -S "$source_dir/examples/embed" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" \
      -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS="${EMBED_FLAGS:-}" \
      -DCMAKE_C_FLAGS="-std=c11 -Wall -Wextra -Werror -pedantic ${EMBED_FLAGS:-}" >/dev/null
cmake --build "$work/build" >/dev/null

"$build/smelt" compile "$model" --mode=infer --no-plan-cache -o "$work/model.plan" >/dev/null
weights=$model/model.safetensors
prompt=(3 1 4 1 5 9)

run() { "$@" "$work/model.plan" "$weights" 8 "${prompt[@]}"; }
run "$work/build/embed_cpp" >"$work/cpp.txt" || fail "the C++ program failed"
run "$work/build/embed_c" >"$work/c.txt" || fail "the C program failed"
grep -q '^entry logits$' "$work/cpp.txt" || fail "no entry 'logits' in: $(cat "$work/cpp.txt")"
[ "$(tail -n1 "$work/cpp.txt")" = "$(tail -n1 "$work/c.txt")" ] || fail "C++ and C disagree"
[ "$(tail -n1 "$work/c.txt" | wc -w)" = 9 ] || fail "expected 8 ids, got: $(tail -n1 "$work/c.txt")"

# The shared library: a plan from memory, tensors of the device and a log; sessions that share weights and count their memory.
run_device() { "$work/build/embed_device" "$1" "$weights" "${prompt[@]}"; }
run_device "$work/model.plan" >"$work/device.txt" 2>"$work/log.txt" || fail "embed_device failed: $(cat "$work/log.txt")"
[ "$(cat "$work/device.txt")" = "$(tail -n1 "$work/c.txt" | cut -d' ' -f-2)" ] || fail "embed_device: $(cat "$work/device.txt")"
for said in "plan '$work/model.plan' loaded" "memory of a session" "weights '$weights' loaded"; do
  grep -qF "$said" "$work/log.txt" || fail "the log lacks \"$said\": $(cat "$work/log.txt")"
done
run "$work/build/embed_shared" >"$work/shared.txt" || fail "embed_shared failed: $(cat "$work/shared.txt")"
grep -qxF "$(tail -n1 "$work/c.txt")" "$work/shared.txt" || fail "embed_shared and embed_c disagree: $(cat "$work/shared.txt")"
grep -qx 'bytes left: 0' "$work/shared.txt" || fail "embed_shared: $(cat "$work/shared.txt")"
run "$work/build/embed_batch" >"$work/batch.txt" || fail "embed_batch failed: $(cat "$work/batch.txt")"
for line in 1 2; do
  [ "$(sed -n "${line}p" "$work/batch.txt")" = "$(tail -n1 "$work/c.txt")" ] || fail "embed_batch and embed_c disagree: $(cat "$work/batch.txt")"
done
[ "$(tail -n1 "$work/batch.txt")" = "2 ended, 1 cancelled, version 1 of the weights" ] || fail "embed_batch: $(cat "$work/batch.txt")"
one=$(sed -n 's/^bytes of one session: //p' "$work/shared.txt")
eight=$(sed -n 's/^bytes of 8 sessions: //p' "$work/shared.txt")
[ "$eight" -lt $((8 * one)) ] || fail "eight sessions take $eight bytes, one takes $one: they share nothing"
for library in smelt smelt_compiler; do
  prefix=smelt_
  [ $library = smelt_compiler ] && prefix=smelt_compile
  names=$(nm -D --defined-only --extern-only "$libraries/lib$library.so" | awk '{ print $3 }')
  [ "$(wc -l <<<"$names")" -ge 5 ] || fail "lib$library.so exports: $names"
  if grep -v "^$prefix" <<<"$names"; then fail "lib$library.so exports what is not of its interface"; fi
  readelf -d "$libraries/lib$library.so" | grep -qE "soname: \[lib$library\.so\.[0-9]+\.[0-9]+\]" || fail "lib$library.so: no version in its name"
done

# The compiler as a library makes the plan that the command line makes.
"$work/build/embed_compile" "$model" "$work/compiled.plan" mode=infer >/dev/null || fail "embed_compile failed"
cmp "$work/compiled.plan" "$work/model.plan" || fail "embed_compile and smelt compile make different plans"
code=0
"$work/build/embed_compile" "$model" "$work/none.plan" mode=inver 2>"$work/error.txt" || code=$?
[ "$code" = 1 ] && grep -q '^error: .*mode' "$work/error.txt" || fail "embed_compile: code $code for a mode that is none"

# Chats with a model whose replies depend on all that was said. Token i is the word wi, so that the first reply in C is
# embed_c's and the second goes on from it.
other=$source_dir/tests/goldens/gpt-neox
"$build/smelt" compile "$other" --mode=infer -o "$work/other.plan" >/dev/null
next() { "$work/build/embed_c" "$work/other.plan" "$other/model.safetensors" "$@" | tail -n1 | cut -d: -f2; }
tokenizer() {  # arguments: ID=WORD, where a token is another word
  local i argument
  local -A words=()
  for argument; do words[${argument%%=*}]=${argument#*=}; done
  printf '{"model": {"type": "WordLevel", "unk_token": "w0", "vocab": {"w0": 0'
  for i in $(seq 130); do printf ', "%s": %d' "${words[$i]:-w$i}" "$i"; done
  printf '}}, "pre_tokenizer": {"type": "WhitespaceSplit"}}'
}
chat() { "$work/build/$1" "$work/other.plan" "$other/model.safetensors" "$work/$2.json" "$3"; }
line() { printf 'w%s ' "$@"; echo; }
lines() { for ids; do line $ids | sed 's/ $//'; done; }  # arguments: the ids of one line each

tokenizer >"$work/words.json"
read -ra first <<<"$(next 3 12 3 1 4 18)"
read -ra second <<<"$(next 3 12 3 1 4 18 "${first[@]}" 33)"
lines '12 3 1 4 18' 33 | chat embed_chat_c words 3 >"$work/chat.txt" || fail "the chat in C failed"
diff "$work/chat.txt" <(lines "${first[*]}" "${second[*]}") || fail "the chat in C does not go on as embed_c does"
for bad in 'w1 \xff' ''; do
  code=0
  printf '%b\n' "$bad" | chat embed_chat_c words 3 >/dev/null 2>"$work/error.txt" || code=$?
  [ "$code" = 1 ] && grep -q '^error: ' "$work/error.txt" || fail "the chat in C: code $code for the line '$bad'"
done

# The chat in C++: tokens 12 and 18 are "User:" and "Assistant:", and the third token of the first reply is the stop text.
# The second reply ends with the end token 2, since the transcript has one "User:" between the two. Replies of two tokens
# end by their length, and the program writes "User:" itself.
tokenizer 12=User: 18=Assistant: "${first[2]}=\nUser:" >"$work/transcript.json"
read -ra second <<<"$(next 3 12 3 1 4 18 "${first[@]}" 9 20 18)"
[ "${second[2]}" = 2 ] || fail "expected a reply that ends with 2, got: ${second[*]}"
lines '3 1 4' '9 20' | chat embed_chat transcript 8 >"$work/chat.txt" || fail "the chat failed"
diff <(head -n2 "$work/chat.txt") <(line "${first[@]:0:2}"; lines "${second[*]}") || fail "the chat: a reply that stops"
tail -n1 "$work/chat.txt" | grep -qE '^6 tokens, [0-9.]+ tokens/s$' || fail "the chat ends with: $(tail -n1 "$work/chat.txt")"
read -ra second <<<"$(next 2 12 3 1 4 18 "${first[@]:0:2}" 12 5 5 18)"
lines '3 1 4' '5 5' | chat embed_chat transcript 2 >"$work/chat.txt" || fail "the chat failed"
diff <(head -n2 "$work/chat.txt") <(lines "${first[*]:0:2}" "${second[*]}") || fail "the chat: a reply of two tokens"
code=0
printf 'w1 \xff\n' | chat embed_chat transcript 8 >/dev/null 2>"$work/error.txt" || code=$?
[ "$code" = 1 ] && grep -q '^error: ' "$work/error.txt" || fail "the chat: code $code for a line that is no UTF-8"

for program in embed_cpp embed_c embed_chat embed_chat_c embed_device embed_shared embed_batch; do
  if ldd "$work/build/$program" | grep -qiE 'llvm|clang|lld'; then fail "LLVM is linked into $program"; fi
done

# Mistakes end in a message and exit code 1, not in a crash.
for program in embed_cpp embed_c; do
  code=0
  "$work/build/$program" "$weights" "$weights" 1 1 >/dev/null 2>"$work/error.txt" || code=$?
  [ "$code" = 1 ] && grep -q '^error: ' "$work/error.txt" || fail "$program: code $code for a file that is no plan"
  code=0
  "$work/build/$program" "$work/model.plan" "$weights" 1 99999999 >/dev/null 2>"$work/error.txt" || code=$?
  [ "$code" = 1 ] && grep -q 99999999 "$work/error.txt" || fail "$program: code $code for an id outside the vocabulary"
done

if command -v pkg-config >/dev/null; then
  pc=$(find "$work/prefix" -name smelt.pc -printf '%h\n')
  # shellcheck disable=SC2046
  PKG_CONFIG_PATH=$pc c++ -std=c++20 ${EMBED_FLAGS:-} "$source_dir/examples/embed/generate.cpp" -o "$work/by_pkg_config" \
      $(PKG_CONFIG_PATH=$pc pkg-config --cflags --libs smelt)
  [ "$(run "$work/by_pkg_config" | tail -n1)" = "$(tail -n1 "$work/cpp.txt")" ] || fail "the pkg-config build disagrees"
  # shellcheck disable=SC2046
  PKG_CONFIG_PATH=$pc cc -std=c11 ${EMBED_FLAGS:-} "$source_dir/examples/embed/generate.c" -o "$work/by_libsmelt" \
      $(PKG_CONFIG_PATH=$pc pkg-config --cflags --libs libsmelt) -Wl,-rpath,"$libraries"
  [ "$(run "$work/by_libsmelt" | tail -n1)" = "$(tail -n1 "$work/c.txt")" ] || fail "the build with libsmelt.pc disagrees"
fi
echo "embed_test: $(tail -n1 "$work/c.txt")"
