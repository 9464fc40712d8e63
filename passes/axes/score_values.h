// Values of a graph as the body of an attention has them, for each score.
#pragma once

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "ir/builder.h"
#include "llvm/ADT/DenseMap.h"

namespace smelt {

/// The lowest number that a score may be without operations on it overflowing in f32.
inline constexpr double kLowestScore = -1e30;

/// Computes in the body what is computed, element by element, from values of fewer axes, such as a mask from
/// places and lengths; reads other values.
class ScoreValues {
 public:
  using Dims = std::vector<int64_t>;
  /// A value of outside, read and broadcast to the scores.
  using Read = std::function<Value*(Value* outside, const Dims& dims)>;
  ScoreValues(GraphBuilder& inside, Shape scores, Read read)
      : inside_(inside), scores_(std::move(scores)), read_(std::move(read)) {}

  /// The value for each score; its dims are these of the scores.
  Value* spread(Value* outside, const Dims& dims);
  /// Whether the body computes the value from others, and does not read it.
  bool computes(Value* outside);
  /// Whether a finite number below kLowestScore is in what was spread.
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

/// The dims that the operand of a broadcast has in what `dims` says of the result.
std::vector<int64_t> dims_before(const Node& broadcast, llvm::ArrayRef<int64_t> dims);

}  // namespace smelt
