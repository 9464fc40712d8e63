// Passes that reduce the memory of a program by the order of its steps and by the division of its buffers,
// and a check of the memory plan. Each pass returns whether it changed the program.
#pragma once

#include "ir/program/program.h"

namespace smelt {

// ---- join_gathers.cpp
// join_gathers: lets forward and backward share one gather of the values that forward reads last and backward
// reads first, such as the weights of the output layer.
//
//   a = all_gather s; .. a ..; b = all_gather s; .. b ..    =>    a = all_gather s; .. a ..; .. a ..
//
// If the same parts of a state are gathered into two buffers, the second buffer and its gathers are removed,
// and its readers read the first one. The first buffer then stays in memory between its last reader and the
// first reader of the second buffer. So the pass requires that the steps between these two readers read few
// other gathered values. Reads and writes of every element keep their order.

/// Joins the gathers. Runs after place_collectives. Does nothing without a mesh.
bool join_gathers(Program& program);

// ---- order_steps.cpp
// order_steps: reorders the steps of every entry so that fewer bytes are live at once.
//
// A step is ready if all steps on which it depends have been placed. The next step is the first ready step
// that frees at least as many bytes as it allocates, and uses a buffer that is larger than a thousandth of
// the largest buffer. If there is no such step, the next step is the first ready step in the old order. An
// order that would need more memory than the old one is rejected. Reads and writes of every element keep
// their order, so results do not change. Steps that touch different elements of one buffer, such as gradients
// of two weights, may change their order.

struct OrderStepsOptions {};

bool order_steps(Program& program, const OrderStepsOptions& options);

// ---- place_collectives.cpp
// place_collectives: moves a gather next to the first reader of its result, and a reduce_scatter next to the
// last writer of its operand, so that these buffers are live for a short time.
//
//   g = all_gather p; a; b; use g    =>    a; b; g = all_gather p; use g
//
// A gather moves to directly before the first step that reads any of its result. A reduce_scatter moves to
// directly after the last step that writes any of its operand, together with the steps that fill padding of
// the operand with zeros. If each bucket of a flat state has its own collective, each bucket of parameters or
// gradients has its own lifetime (BufferPart). Gathers without a reader are removed. Reads and writes of
// every element keep their order, so results do not change; all ranks run the same steps in the same order.

/// Moves the collectives. Runs after order_steps and before plan_memory. Moves a collective only if its
/// buffers are temporary: the result of a gather; the operand and the result of a reduce_scatter. Does not
/// move the steps of variants of which a run executes only one (Step::choice). Does nothing without a mesh.
bool place_collectives(Program& program);

// ---- split_buffers.cpp
// split_buffers: splits buffers into stretches. It splits buffers of gathered parameters, and buffers of
// gradients that are operands of a reduce_scatter. Each step then touches elements of one stretch, such as
// the parameters of one layer.
//
//   b: f32[100], steps touch b[0:60], b[60:100]    =>    b0: f32[60], b1: f32[40]
//
// plan_memory then places each stretch separately. If layers begin at bucket borders
// (passes/graph/training/bucket_layout.h), no stretch is longer than a layer.

/// Splits the buffers. Runs before order_steps; does nothing without a mesh. Ensures: steps touch the same
/// elements as before; elements that no step touches are in no buffer.
bool split_buffers(Program& program);

// ---- check_memory.cpp
// Check of the arena plan against the program's steps.

/// Computes lifetimes again. Throws Error (internal) that names two buffers whose memory overlaps while both
/// are live. Two buffers that are live together in only one step may overlap if Step::may_alias of a step of
/// the entry lists the pair. Takes n log n time for n live ranges.
void check_memory(const Program& program);

}  // namespace smelt
