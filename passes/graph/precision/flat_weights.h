// Utilities of passes over the stored form of weights: which readers of a weight are matmuls that sum
// over its last dim, stacks of weights, and flat states that are made anew.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ir/graph/builder.h"
#include "llvm/ADT/ArrayRef.h"

namespace smelt {

/// Returns the axes of the matmul's result that the rows of the weight at operand `side` are, in order. A row
/// is all but the last dim. Returns nothing if a row does not have the weights of one output.
std::optional<std::vector<int64_t>> output_axes(const Node& matmul, unsigned side);
/// Returns whether `user` is a matmul that sums over the last dim of the weight.
bool multiplies(const Node& user, const Value& weight);
/// Returns whether `user` reads rows of the weight by indices, as an embedding does.
bool gathers_rows(const Node& user, const Value& weight);
/// Returns whether `user` is a concat of parameters along dim 0 all of whose readers are such matmuls; if
/// `any_matmuls`, they may sum over other dims, too.
bool stacks(const Node& user, bool any_matmuls = false);
/// Returns the parameters of a weight: itself, or those that it is a stack of.
llvm::SmallVector<const Node*, 4> parts_of(const Value& weight);
/// Returns the only value, or a concat of all along dim 0.
Value* stacked(GraphBuilder& b, llvm::ArrayRef<Value*> values);

/// Returns the name of the flat state whose weights may be stored in fewer bits: "parameters.frozen" if the
/// module has it, so that what is trained or adapted keeps its type, or else "parameters".
std::string_view state_of_weights(const Module& module);

/// The readers that a weight may have in addition to matmuls that sum over its last dim. It has at least one
/// such matmul.
struct WeightReaders {
  bool tables = false;       // gathers of rows
  bool any_matmuls = false;  // matmuls that sum over other dims, as those of the gradients of their inputs do
};
/// Returns the names of the f32 parameters of the flat state `state` whose readers in all graphs are as
/// `readers` says, or stacks that have such readers. A stack is taken whole or not at all; so what is stacked
/// with a name of `left_out` is left out, too.
std::set<std::string> multiplied_weights(const Module& module, std::string_view state,
                                         const WeightReaders& readers, std::set<std::string> left_out = {});

/// A flat state that grows by segments.
class FlatState {
 public:
  FlatState(std::string name, DType dtype);
  /// Appends a segment, at a multiple of 16 elements. `follows`: it begins where the previous one ends.
  void append(Segment segment, bool follows);
  /// Returns the state. It has at least 16 elements, because a plan has no buffers without bytes.
  State finished();

 private:
  State state_;
  int64_t end_ = 0;
};

}  // namespace smelt
