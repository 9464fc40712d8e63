// Translation of values of a graph into values per score in the body of an attention.
#pragma once

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "ir/graph/builder.h"
#include "llvm/ADT/DenseMap.h"

namespace smelt {

/// The lowest score for which operations on scores do not overflow in f32.
inline constexpr double kLowestScore = -1e30;

/// Computes in the body values that are elementwise functions of values with fewer axes, such as a mask from
/// positions and lengths; reads other values as arguments.
class ScoreValues {
 public:
  using Dims = std::vector<int64_t>;
  /// Reads an outside value and broadcasts it to the scores.
  using Read = std::function<Value*(Value* outside, const Dims& dims)>;
  ScoreValues(GraphBuilder& inside, Shape scores, Read read)
      : inside_(inside), scores_(std::move(scores)), read_(std::move(read)) {}

  /// Returns the value for each score; `dims` are its dims among those of the scores.
  Value* spread(Value* outside, const Dims& dims);
  /// Returns whether the body computes the value from others, instead of reading it.
  bool computes(Value* outside);
  /// Returns whether the values given to spread() contain a finite number below kLowestScore.
  bool is_low() const { return is_low_; }

 private:
  Value* make(Value* outside, const Dims& dims);
  int64_t widest(const Value* outside);
  int64_t find_widest(const Value* outside);

  GraphBuilder& inside_;
  Shape scores_;
  Read read_;
  bool is_low_ = false;
  std::map<std::pair<Value*, Dims>, Value*> made_;
  llvm::DenseMap<const Value*, int64_t> widest_;
};

/// Returns the dims that a broadcast's operand has, given the dims of its result.
std::vector<int64_t> dims_before(const Node& broadcast, llvm::ArrayRef<int64_t> dims);

}  // namespace smelt
