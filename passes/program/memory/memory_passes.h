// Passes that order steps and cut buffers for memory.
#pragma once

#include "ir/program/program.h"

namespace smelt {

// ---- join_gathers.cpp
// join_gathers: gathers once the values that forward reads last and backward first, such as the table of a
// head.
//
//   a = all_gather s; .. a ..; b = all_gather s; .. b ..    =>    a = all_gather s; .. a ..; .. a ..
//
// If the same parts of a state are gathered into two buffers, the second one is removed if steps between the
// last reader of the first and the first reader of the second read few other gathered values, so that no rank
// holds the buffer for long. Reads and writes of every element keep their order.

/// Joins the gathers. Runs after place_collectives. Does nothing without a mesh.
bool join_gathers(Program& program);

// ---- order_steps.cpp
// order_steps: reorders the steps of every entry so that fewer bytes are live at once.
//
// The next step is the first ready step that frees at least as many bytes as it allocates, otherwise the
// first ready step in the old order. A step whose buffers all have at most a thousandth of the largest
// buffer's bytes is not preferred. An order that would need more memory is rejected. Reads and writes of
// every element keep their order, so results do not change. Steps that touch different elements of one
// buffer, such as gradients of two weights, may be exchanged.

struct OrderStepsOptions {};

bool order_steps(Program& program, const OrderStepsOptions& options);

// ---- place_collectives.cpp
// place_collectives: moves gathers and reduce_scatters next to their users, so that memory is held for a
// short time.
//
//   g = all_gather p; a; b; use g    =>    a; b; g = all_gather p; use g
//
// A gather moves to directly before the first step that reads any of its result. A reduce_scatter, with the
// zeros of padding that it reads, moves to directly after the last step that writes any of its operand. With
// one step per bucket of a flat state, buckets of gathered parameters and of gradients live one by one
// (BufferPart). Gathers without a reader are removed. Reads and writes of every element keep their order, so
// results do not change; all ranks run the same steps in the same order.

/// Moves the collectives. Runs after order_steps and before plan_memory. Does not move collectives between
/// states or steps that are part of a choice of variants.
bool place_collectives(Program& program);

// ---- split_buffers.cpp
// split_buffers: splits the buffers of gathered buckets and of summed gradients into stretches that no step
// spans, such as one layer's parameters or gradients.
//
//   b: f32[100], steps touch b[0:60], b[60:100]    =>    b0: f32[60], b1: f32[40]
//
// Each stretch is then placed separately, for as long as it is used; parts of one buffer keep their
// distances. If layers begin at bucket borders (passes/graph/training/bucket_layout.h), no stretch is longer
// than a layer.

/// Splits the buffers. Runs before order_steps; does nothing without a mesh. Ensures: steps touch the same
/// elements as before; elements that no step touches have no memory.
bool split_buffers(Program& program);

// ---- check_memory.cpp
// Check that a program's arena plan suits its steps.

/// Computes lifetimes again and throws Error (internal) naming two buffers that overlap while both are live
/// and that no step may alias. Takes n log n time for n live ranges.
void check_memory(const Program& program);

}  // namespace smelt
