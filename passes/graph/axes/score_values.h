// Translation of values outside an attention into values inside its body (score_mod), where each value has
// one element per score: the shape [batch, heads, queries, keys].
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

/// Builds values in the body. If a value is an elementwise function of values with fewer axes, for example a
/// mask from positions and lengths, the body computes it. It reads other values as arguments.
class ScoreValues {
 public:
  using Dims = std::vector<int64_t>;
  /// Function that makes an outside value an argument of the body and returns its broadcast to the scores'
  /// shape. Dim i of the value is dim dims[i] of the scores.
  using Read = std::function<Value*(Value* outside, const Dims& dims)>;
  ScoreValues(GraphBuilder& inside, Shape scores, Read read)
      : inside_(inside), scores_(std::move(scores)), read_(std::move(read)) {}

  /// Returns the value in the body, with the scores' shape. Dim i of `outside` is dim dims[i] of the scores.
  Value* spread(Value* outside, const Dims& dims);
  /// Returns whether the body computes the value from others, instead of reading it.
  bool computes(Value* outside);
  /// Returns whether the values given to spread() contain a finite number below kLowestScore.
  bool is_low() const { return is_low_; }

 private:
  Value* make(Value* outside, const Dims& dims);
  /// Returns the largest rank of the values in memory that `outside` is computed from; 0 if there are none.
  int64_t widest(const Value* outside);
  int64_t find_widest(const Value* outside);

  GraphBuilder& inside_;
  Shape scores_;
  Read read_;
  bool is_low_ = false;
  std::map<std::pair<Value*, Dims>, Value*> made_;
  llvm::DenseMap<const Value*, int64_t> widest_;
};

/// Given the `dims` of a broadcast's result, as in ScoreValues::spread, returns those of its operand.
std::vector<int64_t> dims_before(const Node& broadcast, llvm::ArrayRef<int64_t> dims);

}  // namespace smelt
