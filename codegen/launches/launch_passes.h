// Passes over the launches of a program for a GPU, by the source file that has each.
#pragma once

#include <vector>

#include "ir/kernel/kernel.h"
#include "ir/program/program.h"
#include "ir/target.h"

namespace smelt {

// ---- attach_tails.cpp
// Last-block epilogues: a step that is small enough for one block becomes the tail of another step's kernel,
// and the block that ends last runs it (Kernel::tail). Examples are the end of sums over all elements, the
// scalars computed from them, and unrelated scalars that save a launch this way. A step moves only past steps
// that it shares no memory with, and stays in its phase.

/// Runs on programs for a GPU, between order_steps and plan_memory.
bool attach_tails(Program& program);

// ---- fit_tails.cpp
// Last-block epilogues: kernels that the last block of another kernel runs (Kernel::tail).

/// Returns whether one block of any number of threads can run the whole kernel quickly: a few results, each
/// of few numbers, at any size of the symbols.
bool can_be_tail(const Kernel& kernel);
/// Gives a kernel's tail schedules for the kernel's own threads.
void fit_tails(Kernel& kernel);

// ---- dependent_launches.cpp
// Programmatic dependent launch (sm_90): marks kernels that wait for the preceding launches themselves
// (Kernel::waits), so that a GPU may start them before those launches have ended. All kernels are marked in
// the entries that run for a few tokens at a time, because there a launch takes as long as its work. A kernel
// waits before it touches any memory. So a kernel that has ended comes after all launches before it, and a
// kernel that waits for it waits for those, too.

/// Returns whether the entry keeps values computed for tokens (Role::cache), and so runs for a few tokens at
/// a time.
bool keeps_tokens(const Program& program, const PlanEntry& entry);

/// Runs on programs for a GPU, after the passes that make kernels.
bool mark_dependent_launches(Program& program);

// ---- drop_alternatives.cpp
// Removes variants whose kernels do not fit the registers from a program.

/// Erases the variants that run a kernel of `heavy` (by number) where another variant of the choice runs
/// none, and kernels that no step runs any more. Memory may have been planned: buffers keep their locations,
/// and live from and to the same steps under their new numbers. Returns whether something was erased.
bool drop_alternatives(Program& program, const std::vector<bool>& heavy);

// ---- small_m_epilogues.cpp
// Fuses a small-M GEMM with weights and the kernels around it to one kernel: a prologue, such as a norm, and
// an epilogue per element, such as a bias and an activation. A run for one token consists of such matmuls,
// whose time is the time to read weights, and of small kernels between them, whose time is the time of a
// launch.
//
//   prologue  (Kernel::before) one kernel over rows makes A. Every block runs all of it while its first
//             weights are loaded, and leaves A in shared memory; only the first block stores other results
//   epilogue  (the body) one kernel without reductions reads the result at the current element, or one
//             element of each of a few neighbouring parts of its columns (a gate and the gated values)
//
// Requires: the number of rows is never larger than the small-M template takes (codegen/cuda/small_m/).

/// Runs on programs for a GPU, between `lower` and `schedule_kernels`.
bool fuse_small_m(Program& program, const Target& target);

// ---- gemm_epilogues.cpp
// Epilogue fusion for sm_90a: a matmul and the kernel that reads its result element by element become one
// kernel, a template (codegen/cuda/gemm/) with that kernel's instructions as its epilogue. The two steps
// become the first variant of a choice, the template with tiles of several sizes the others, and the executor
// takes the fastest.
//
// The rule looks at the kernel's instructions: one block of column code whose columns are the result's
// columns, no reduction along a row, and a result that is read at the element's own position. Each row of
// tiles makes one row of partial column sums, where the kernel itself has at least that many partial rows. If
// other steps read the result, too, the template stores it.

/// Runs on programs for a GPU, between `lower` and `schedule_kernels`.
bool offer_gemm_epilogues(Program& program, const Target& target);

// ---- merge_launches.cpp
// Merges independent steps that run the same small kernel to one launch with several sets of arguments
// (Kernel::copies), at the position of the last of these steps. Examples are sums of partial sums, and
// additions of vectors to accumulated values, which run once per layer and whose results are first read by
// the update. A step moves down only past steps that it shares no memory with, and only where the moves
// extend the lifetime of little memory.

/// Runs on programs for a GPU, between order_steps and plan_memory.
bool merge_launches(Program& program);

// ---- side_by_side.cpp
// Horizontal fusion: independent steps become one launch, whose blocks are divided among their kernels
// (Kernel::beside), because a launch takes longer than the work of a kernel where tokens are generated a few
// at a time. A step moves down to the last step of its launch, and only past steps that it shares no memory
// with.

/// Runs on programs for a GPU, between merge_launches and plan_memory, on entries that keep tokens.
bool run_side_by_side(Program& program);

}  // namespace smelt
