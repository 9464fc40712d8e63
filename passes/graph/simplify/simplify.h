// Passes that make graphs simpler.
#pragma once

#include "ir/graph/graph.h"

namespace smelt {

// ---- simplify.cpp
// simplify: folds constants, merges equal nodes and applies algebraic rules, until nothing changes.
//
//   %a = mul %x, 1; %b = transpose (transpose %a)    =>    uses of %b read %x
//
// There is a list of rules for each op (simplify_rules.cpp). The rules simplify x+0, x*1, x-x, double
// negation, division by a power of two, select on a constant, chains of transposes, reshapes, broadcasts,
// converts and slices, a slice of a concat, a concat of all slices of one value, gathers of consecutive rows,
// and sums of broadcasts. An add of a scatter_add into zeros becomes a scatter_add into the other addend. A
// matmul replaces transposes of its operands by other index letters. x*0 becomes 0 only if x is certainly
// finite. Ensures: values are equal in exact arithmetic, and no rounding is added; random ops with different
// ids and nodes with Node::anchored are never merged; states are never reordered.

struct SimplifyOptions {
  int max_sweeps = 16;  // most sweeps over the graph; simplify ends after them in any case
};
/// Simplifies the graph; returns whether anything changed.
bool simplify(Graph& graph, const SimplifyOptions& options);

// ---- bind_symbols.cpp
// bind_symbols: replaces every symbol with its upper bound. Only the coordinates of a rank, such as
// data.rank, stay symbols.
//
//   symbols N <= 8                    =>    graph @g(%x: f32[8,3]) ..
//   graph @g(%x: f32[N,3]) ..
//
// A run usually gets the value of N from the shapes of its inputs. The pass is for graphs that run without
// such inputs. Ensures: the results are those of a run in which every symbol has its upper bound.

struct BindSymbolsOptions {};
/// Binds the symbols; returns whether there were any. Throws Error if the symbols cannot reach all bounds at
/// once, as with B <= 4, T <= 4 and B*T <= 8.
bool bind_symbols(Module& module, const BindSymbolsOptions& options = {});

// ---- decompose_narrow.cpp
// Decomposition of arithmetic on integers of 8 and 16 bits, whose results wrap around at that width:
//
//   %z = add %x, %y : u8[n]   =>   %a = convert %x : i32[n]
//                                  %b = convert %y : i32[n]
//                                  %c = add %a, %b : i32[n]
//                                  %z = convert %c : u8[n]
//
// Kernels compute in 32 bits. The last convert cuts off the bits above the width of the type, so the result
// wraps around.

/// Decomposes add, sub, mul, div, neg, abs and sums on such types; returns whether there were any.
bool decompose_narrow(Graph& graph);

// ---- decompose_updates.cpp
// An update of a part of a state, at an index, becomes an update of the whole state. The new value of the
// state is its old content, with the part inserted:
//
//   update %v, %i {state = "s", axis = 2} =>  %old = state "s"; %new = insert %old, %v, %i {axis = 2}
//                                             update %new {state = "s"}
//
// Several updates of one state insert their parts one after another. assign_layout lets the insert write in
// the state's memory, without a copy (passes/graph/layout/overwrites.h). decompose calls this function.

/// Decomposes such updates; returns whether there were any.
bool decompose_updates(Graph& graph);

// ---- drop_stops.cpp
// drop_stops: replaces stop_gradient with its operand once differentiation is over.
//
//   %y = stop_gradient %x; %z = exp %y    =>    %z = exp %x
//
// A stop_gradient would otherwise end a fusion, and its operand would be stored in memory.

struct DropStopsOptions {};
/// Drops the nodes; returns whether there were any.
bool drop_stops(Graph& graph, const DropStopsOptions& options);

}  // namespace smelt
