// Passes that make graphs simpler.
#pragma once

#include "ir/graph/graph.h"

namespace smelt {

// ---- simplify.cpp
// simplify: folds constants, merges equal nodes and applies algebraic rules, to a fixed point.
//
//   %a = mul %x, 1; %b = transpose (transpose %a)    =>    uses of %b read %x
//
// Rules are tables by op (simplify_rules.cpp): x+0, x*1, x-x, double negation, division by a power of two,
// select on a constant, chains of transposes, reshapes, broadcasts, converts and slices, slice of concat,
// concat of all slices of one value, gathers of consecutive rows, sums of broadcasts, adds into scatter_adds,
// transposes into a matmul's letters. x*0 becomes 0 only if x is certainly finite. Ensures: values stay the
// same up to exact arithmetic (no rounding is added); random ops with different ids and nodes with the
// attribute `anchor` are never merged; states are never reordered.

struct SimplifyOptions {
  int max_sweeps = 16;
};
bool simplify(Graph& graph, const SimplifyOptions& options);

// ---- bind_symbols.cpp
// bind_symbols: replaces every symbol with its bound, so that the module has no symbols.
//
//   symbols N <= 8                          graph @g(%x: f32[8,3]) ..
//   graph @g(%x: f32[N,3]) ..
//
// It serves graphs that run without inputs whose shapes would define N. Ensures: results are those of a run
// at the bounds. Throws Error if all bounds cannot be reached at once (B <= 4, T <= 4, B*T <= 8).

struct BindSymbolsOptions {};
bool bind_symbols(Module& module, const BindSymbolsOptions& options = {});

// ---- decompose_narrow.cpp
// Decomposition of arithmetic on integers of 8 and 16 bits, which wraps around at their width:
//
//   %z = add %x, %y : u8[n]        %a = convert %x : i32[n]
//                                  %b = convert %y : i32[n]
//                                  %c = add %a, %b : i32[n]
//                                  %z = convert %c : u8[n]
//
// Kernels compute in 32 bits. Without the converts, a value that stays in one kernel would keep bits that a
// value in memory does not have.

bool decompose_narrow(Graph& graph);

// ---- decompose_updates.cpp
// Decomposition of an update at an index into an update of the whole state, whose value is the old content
// with a part inserted:
//
//   update %v, %i {state = "s", axis = 2}     %old = state "s"; %new = insert %old, %v, %i {axis = 2}
//                                             update %new {state = "s"}
//
// Several updates of one state insert their parts one after another. assign_layout lets the insert write in
// the state's own memory (passes/graph/layout/overwrites.h). decompose calls this function.

/// Decomposes such updates; returns whether there were any.
bool decompose_updates(Graph& graph);

// ---- drop_stops.cpp
// drop_stops: replaces stop_gradient with its operand once differentiation is over.
//
//   %y = stop_gradient %x; %z = exp %y    =>    %z = exp %x
//
// A stop_gradient would otherwise split a fusion and need memory.

struct DropStopsOptions {};
bool drop_stops(Graph& graph, const DropStopsOptions& options);

}  // namespace smelt
