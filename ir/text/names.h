// Names and keywords of the text forms of modules and kernels.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/graph/graph.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"

namespace smelt {

// ---- keywords
// Keywords of the Kernel IR's text form, in the order of the enums AxisKind, KernelBlock::Scope and Form
// (ir/kernel/kernel.h).

constexpr std::string_view kAxisWords[] = {"parallel", "column", "reduced"};
constexpr std::string_view kScopeWords[] = {"row", "column", "reduced"};
constexpr std::string_view kFormWords[] = {"plain", "fast",  "fast_tangent", "inverse",   "scaled_inverse",
                                           "kept",  "early", "prefetched",   "sequential"};

// ---- value_names.cpp
// Names of a graph's values in the text form.

/// Names for all values of a graph. A value's name is the attribute `name` of an input, or Value::name of any
/// other value. If that name is not valid, or an earlier value has it, the value's name is a number instead,
/// counted from 0.
class ValueNames {
 public:
  explicit ValueNames(const Graph& graph);
  /// Returns the name without %; "?" for a value that the graph does not define.
  const std::string& operator[](const Value* value) const;

 private:
  llvm::DenseMap<const Value*, std::string> names_;
};

// ---- nearest_names.cpp
// Suggestions for a name that does not exist.

/// Returns the elements of `names` that have the smallest edit distance from `word`: at most three, in the
/// order of `names`. Names with a distance above max(1, length of `word` / 3) are not returned. `word` is
/// compared with the whole name and with its part after the last dot; the smaller distance counts. For
/// example, "heads" is near "decoder.heads".
std::vector<std::string> nearest_names(std::string_view word, llvm::ArrayRef<std::string> names);

/// Returns "; did you mean A, B or C?", where A, B and C are nearest_names(word, names). Returns an empty
/// string if there are no near names.
std::string did_you_mean(std::string_view word, llvm::ArrayRef<std::string> names);

}  // namespace smelt
