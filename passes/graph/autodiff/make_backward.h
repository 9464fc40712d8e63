// Passes that make backward graphs and simplify masks in them, and the variables of differentiation.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/graph/graph.h"

namespace smelt {

// ---- make_backward.cpp
// make_backward: adds a graph @NAME.backward for every graph @NAME. The new graph computes the outputs of
// @NAME. It also has an input grad.OUT for the gradient of each output OUT, and computes the gradients of the
// inputs and parameters from these.
//
//   graph @g(%x: f32[3]) {        graph @g.backward(%grad.y: f32[3], %x: f32[3]) {
//     %y = exp %x : f32[3]          %y = exp %x : f32[3]
//     return y = %y                 %0 = mul %grad.y, %y {phase = backward} : f32[3]
//   }                               return y = %y, grad.x = %0
//                                 }
//
// Only floats have gradients. No backward graph is made for a graph that updates states, that reads no float
// input and no float parameter, or that has no float output. Ensures: existing graphs do not change; the
// nodes that compute gradients have the phase backward.

struct MakeBackwardOptions {};
bool make_backward(Module& module, const MakeBackwardOptions& options = {});

// ---- rectifier_masks.cpp
// rectifier_masks: computes the masks of a rectifier and of a dropout in backward from the sign of the stored
// forward result h. x is the rectifier's input, g the gradient of h, and `keep` the dropout's mask:
//
//   forward            r = x <= 0 ? 0 : x
//                      h = keep ? r * c : 0    (a matmul reads h)
//   backward before    dx = x <= 0 ? 0 : (keep ? g : 0) * c
//   backward after     dx = h <= 0 ? 0 : g * c
//
// Here c > 0. The dropout and the factor c may be missing. h is stored anyway, for the gradient of the
// matmul. After the rewrite, backward needs neither x nor the random numbers of the dropout. If r has readers
// other than the dropout, the mask of x stays. Runs before rematerialize. If x is positive but the stored h
// is rounded to 0 (x below 3e-8 in f16), the gradient becomes 0 instead of g * c.

struct RectifierMasksOptions {};
bool rectifier_masks(Graph& graph, const RectifierMasksOptions& options);

// ---- variables.cpp
// Variables of differentiation, and the nodes through which derivatives pass, in reverse and in forward mode.

/// Parameter or input with respect to which a graph is differentiated. `values` are the results of the
/// graph's nodes `parameter` or `input` of this name; empty if the graph does not use the parameter.
struct Variable {
  std::string name;
  Type type;
  std::vector<Value*> values;
};

/// Returns the variables of these names; without names, all float parameters of the module that are not
/// frozen. Throws Error for a name that is neither a parameter nor an input, and for variables that are no
/// floats.
std::vector<Variable> find_variables(const Graph& graph, const std::vector<std::string>& names);
/// Returns whether derivatives pass through the node; comparisons, stop_gradient and the like stop them.
bool passes_derivatives(const Node& node);

}  // namespace smelt
