// Splits of letters in a matmul's spec. The spec has one letter per axis of the operands and of the result,
// as an einsum. If the axis r is split into [b,t], "rc,oc->ro" becomes "btc,oc->bto".
#pragma once

#include <map>
#include <string>
#include <utility>

#include "ir/ops/matmul_spec.h"
#include "runtime/base/dim.h"

namespace smelt {

/// A spec, and the letters that replace its split letters.
class SplitLetters {
 public:
  explicit SplitLetters(const MatmulSpec& spec) : spec_(spec), used_(spec.a + spec.b) {}

  /// Replaces `letter` by one unused letter for each of the extents `parts`. Throws Error if all letters are
  /// used.
  void split(char letter, const Shape& parts);
  bool is_any_split() const { return !parts_.empty(); }
  /// Returns the spec after the splits.
  MatmulSpec spec() const { return {names(spec_.a), names(spec_.b), names(spec_.out)}; }
  /// Returns the shape of an operand or result after the splits. `letters` and `before`: its letters and its
  /// shape before the splits.
  Shape shape(const std::string& letters, const Shape& before) const;

 private:
  std::string names(const std::string& letters) const;
  char unused() const;

  MatmulSpec spec_;
  std::string used_;  // letters that a split must not choose
  /// The key is a split letter. The value has the letters that replace it, and their extents.
  std::map<char, std::pair<std::string, Shape>> parts_;
};

}  // namespace smelt
