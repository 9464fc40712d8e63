#include "runtime/tokenizers/unicode/classes.h"

#include <algorithm>
#include <array>
#include <memory>
#include <span>

namespace smelt {
namespace {

/// Every `step`-th code point of first..last has its lower case `delta` further.
struct CaseRun {
  uint32_t first, last, step;
  int32_t delta;
};

/// Code points that are newer than Unicode 14.
struct RecentRun {
  uint32_t first, last, known;
};

#include "runtime/tokenizers/unicode/tables.inc"

constexpr uint32_t kCodePoints = 0x110000;

/// One entry a code point: quick to read, and made once of the compact tables.
struct ClassTable {
  std::unique_ptr<uint16_t[]> classes{new uint16_t[kCodePoints]()};

  ClassTable() {
    add(k_letter, kLetter);
    add(k_number, kNumber);
    add(k_space, kSpace);
    add(k_upper_like, kUpperLike);
    add(k_lower_like, kLowerLike);
    add(k_word, kWord);
    add(k_whitespace, kWhitespace);
    add(k_numeric, kNumeric);
    add(k_punctuation, kPunctuation);
    add(k_bert_dropped, kBertDropped);
    add(k_accent, kAccent);
    add(k_mark, kMark);
    add(k_decomposes, kDecomposes);
    add(k_decomposes_compatibly, kDecomposesCompatibly);
    add(k_combines, kCombines);
    add(k_extends, kExtends);
  }

  /// The runs are alternately outside and inside.
  void add(std::span<const uint32_t> runs, uint16_t bit) {
    uint32_t at = 0;
    bool inside = false;
    for (const uint32_t length : runs) {
      if (inside) std::for_each_n(classes.get() + at, length, [&](uint16_t& entry) { entry |= bit; });
      at += length;
      inside = !inside;
    }
  }
};

}  // namespace

uint16_t classes_of(char32_t c) {
  static const ClassTable table;
  return c < kCodePoints ? table.classes[c] : 0;
}

std::u32string_view lower_case(char32_t c, char32_t (&place)[2]) {
  place[0] = c;
  if (c == 0x130) {
    place[0] = U'i';
    place[1] = 0x307;
    return {place, 2};
  }
  const auto run = std::lower_bound(std::begin(kLowerCases), std::end(kLowerCases), c,
                                    [](const CaseRun& a, char32_t b) { return a.last < b; });
  if (run != std::end(kLowerCases) && c >= run->first && (c - run->first) % run->step == 0)
    place[0] = static_cast<char32_t>(static_cast<int64_t>(c) + run->delta);
  return {place, 1};
}

char32_t known_code_point(char32_t c) {
  const auto run = std::ranges::lower_bound(kRecent, static_cast<uint32_t>(c), {}, &RecentRun::last);
  return run != std::end(kRecent) && c >= run->first ? run->known : c;
}

}  // namespace smelt
