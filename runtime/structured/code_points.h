// Sets of Unicode scalar values, as sorted ranges.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace smelt::structured {

constexpr char32_t kLastCodePoint = 0x10FFFF;

/// A range of code points; both ends belong to it.
struct CodePointRange {
  char32_t first, last;
  auto operator<=>(const CodePointRange&) const = default;
};

/// A set of Unicode scalar values. Surrogates (U+D800 to U+DFFF) are never elements, because UTF-8 cannot
/// encode them.
class CodePointSet {
 public:
  CodePointSet() = default;
  /// Creates the union of the ranges, which may overlap and be in any order.
  explicit CodePointSet(std::vector<CodePointRange> ranges);
  /// Returns the set of all scalar values.
  static CodePointSet all();
  /// Returns the set of the characters of an ASCII text.
  static CodePointSet of(std::string_view characters);

  /// Returns the ranges, sorted. No two ranges overlap or are adjacent.
  const std::vector<CodePointRange>& ranges() const { return ranges_; }
  bool empty() const { return ranges_.empty(); }
  bool contains(char32_t c) const;
  bool operator==(const CodePointSet&) const = default;
  bool operator<(const CodePointSet& other) const { return ranges_ < other.ranges_; }

 private:
  std::vector<CodePointRange> ranges_;
};

CodePointSet operator|(const CodePointSet& a, const CodePointSet& b);
CodePointSet operator&(const CodePointSet& a, const CodePointSet& b);
/// Returns the scalar values of `a` that are not in `b`.
CodePointSet operator-(const CodePointSet& a, const CodePointSet& b);

}  // namespace smelt::structured
