// The backward pass.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/graph/graph.h"

namespace smelt {

// ---- make_backward.cpp
// make_backward: adds a graph @NAME.backward for every graph @NAME, which also computes the gradients of
// inputs and parameters from those of the outputs.
//
//   graph @g(%x: f32[3]) {        graph @g.backward(%grad.y: f32[3], %x: f32[3]) {
//     %y = exp %x : f32[3]          %y = exp %x : f32[3]
//     return y = %y                 %0 = mul %grad.y, %y {phase = "backward"} : f32[3]
//   }                               return y = %y, grad.x = %0
//                                 }
//
// Only floats have gradients. A graph that updates states, or that has no float input or no float output,
// gets no backward graph. Ensures: existing graphs stay as they are; nodes that are not forward carry phase =
// "backward".

struct MakeBackwardOptions {};
bool make_backward(Module& module, const MakeBackwardOptions& options = {});

// ---- rectifier_masks.cpp
// rectifier_masks: backward derives the masks of a rectifier and of a dropout from the sign of the stored
// result.
//
//   r = x <= 0 ? 0 : x
//   h = keep ? r * c : 0, which a matmul reads        dx = x <= 0 ? 0 : (keep ? g : 0) * c
//   becomes                                            dx = h <= 0 ? 0 : g * c
//
// Here c > 0; either factor and the dropout may be missing. The matmul needs h in memory for its own
// gradient, so x need not be kept, h is not recomputed, and no random numbers are drawn twice. A gradient
// that also has a contribution from outside the dropout keeps its mask. Runs before rematerialize. If x is so
// small that the stored h is 0 (below 3e-8 in f16), the gradient becomes 0 instead of g.

struct RectifierMasksOptions {};
bool rectifier_masks(Graph& graph, const RectifierMasksOptions& options);

// ---- variables.cpp
// Variables of differentiation and the nodes through which derivatives pass, for both modes.

/// Parameter or input with its type and all nodes that read it.
struct Variable {
  std::string name;
  Type type;
  std::vector<Value*> values;
};

/// Finds variables by name; without names, all float parameters of the module. Throws Error for a name that
/// is neither a parameter nor an input, and for integers.
std::vector<Variable> find_variables(const Graph& graph, const std::vector<std::string>& names);
/// Returns whether derivatives pass through the node; comparisons, stop_gradient and the like stop them.
bool passes_derivatives(const Node& node);

}  // namespace smelt
