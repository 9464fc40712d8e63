#!/usr/bin/env bash
# Counts the lines with words that docs/dev/style.md replaces (tests/words.txt) and fails where there are more than before.
#   tests/words.sh [--list PATTERN_NUMBER]   prints the lines that have a pattern
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
sources() { git ls-files '*.h' '*.cpp' '*.cuh' '*.def' '*.py' '*.sh' | grep -v '^tests/words'; }
hits() { sources | xargs grep -nE -- "$1" || true; }

number=0 faults=0
while IFS=$'\t' read -r most pattern advice; do
  [[ $most == \#* ]] && continue
  number=$((number + 1))
  if [ "${1:-}" = --list ]; then
    [ "$number" = "${2:-}" ] && hits "$pattern"
    continue
  fi
  found=$(hits "$pattern" | wc -l)
  if [ "$found" -gt "$most" ]; then
    faults=$((faults + 1))
    echo "words: $found lines have '$pattern', at most $most may: $advice (tests/words.sh --list $number)" >&2
  elif [ "$found" -lt "$most" ]; then
    echo "words: only $found lines have '$pattern': write that for $most in tests/words.txt"
  fi
done <tests/words.txt
[ "${1:-}" = --list ] && exit 0
[ $faults -eq 0 ] || exit 1
echo "words: no new ones of $number patterns"
