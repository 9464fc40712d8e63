// Ranges of symbolic sizes, for importers, whose sizes may be below 0 on the way to those of tensors.
#pragma once

#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/dim.h"

namespace smelt::python {

/// A range of integers with both ends. An end that does not fit 64 bits is infinite: kBelow or kAbove.
struct SizeRange {
  static constexpr int64_t kAbove = std::numeric_limits<int64_t>::max(), kBelow = -kAbove;
  int64_t low = 1, high = kAbove;
};

/// The largest or the least of sizes, where it is not known which size that is. The text form of graphs has
/// no such size.
struct Extreme {
  bool largest;
  std::vector<Dim> sizes;
};

/// Known ranges of symbols and of products of symbols. A symbol without a range is at least 1. Unlike
/// Symbols, it takes symbols without an upper bound, and quotients below 0.
class SizeRanges {
 public:
  /// Sets the range of a symbol, or of a product of several.
  void set(std::vector<std::string> factors, SizeRange range);
  bool has(const std::vector<std::string>& factors) const { return ranges_.contains(factors); }
  /// Returns a range that contains the size in every run.
  SizeRange range(const Dim& size) const;
  /// Returns whether the size is at least 0 for certain. More exact than range(size), so that it orders
  /// T / 2 and T.
  bool is_natural(const Dim& size) const;
  /// Returns the largest or the least of the sizes: one of them if it is known which one, else a symbol named
  /// after them, such as max(B, T), which extreme_of() finds.
  Dim extreme(bool largest, const std::vector<Dim>& sizes);
  /// Returns what the symbol of this name stands for; null: it is no extreme.
  const Extreme* extreme_of(std::string_view symbol) const;
  /// Returns the names of all symbols of the size, also those of the sizes of its extremes.
  std::vector<std::string> symbols(const Dim& size) const;

 private:
  SizeRange range(const Dim::Term& term) const;
  SizeRange range(const Atom& atom) const;
  SizeRange range(const Extreme& extreme) const;
  void collect(const Dim& size, std::vector<std::string>& names) const;

  std::map<std::vector<std::string>, SizeRange> ranges_;  // by sorted factors
  std::map<std::string, Extreme, std::less<>> extremes_;  // by the names of their symbols
};

}  // namespace smelt::python
