// Passes over the launches of a program for a GPU, by source file. A pass returns whether it has changed the
// program.
#pragma once

#include <vector>

#include "ir/kernel/kernel.h"
#include "ir/program/program.h"
#include "ir/target.h"

namespace smelt {

// ---- attach_tails.cpp
// Last-block epilogues: a step that is small enough for one block becomes the tail of another step's kernel,
// and the block that ends last runs it (Kernel::tail). Examples are the last part of sums over all elements,
// the scalars computed from them, and unrelated scalars that save a launch this way. A step moves only past
// steps that it does not conflict with (conflict_index.h), and stays in its phase.

/// Runs on programs for a GPU, between order_steps and plan_memory.
bool attach_tails(Program& program);

// ---- fit_tails.cpp
// Last-block epilogues: kernels that the last block of another kernel runs (Kernel::tail).

/// Returns whether one block with any number of threads can run the whole kernel quickly. The kernel must
/// have few results, each of few terms, and its sizes must be constant.
bool can_be_tail(const Kernel& kernel);
/// Sets the schedules of the kernels in a kernel's tail, for the number of threads of the kernel itself.
void fit_tails(Kernel& kernel);

// ---- dependent_launches.cpp
// Programmatic dependent launch (sm_90): marks kernels whose code waits for the preceding launches
// (Kernel::waits), so that a GPU may start them before those launches have ended. Kernels are marked in the
// entries that run for a few tokens at a time, because there a launch takes as long as its work. Of the
// templates, the pass marks only those of decode attention. A kernel waits before it accesses memory that
// earlier launches write. So when a kernel has ended, all launches before it have ended, too.

/// Returns whether a step of the entry writes a cache of values per token (Role::cache). Such an entry runs
/// for a few tokens at a time.
bool keeps_tokens(const Program& program, const PlanEntry& entry);

/// Runs on programs for a GPU, after the passes that make kernels.
bool mark_dependent_launches(Program& program);

// ---- drop_alternatives.cpp
// Removes variants whose kernels do not fit the registers from a program.

/// Erases variants that run a kernel for which `heavy` (by kernel number) is true, if another variant of the
/// same choice runs no such kernel. Variants that are chosen by sizes and not by measurement are kept. Then
/// erases kernels that no step runs any more. Memory may have been planned: buffers keep their locations, and
/// their lifetimes refer to the same steps under their new numbers.
bool drop_alternatives(Program& program, const std::vector<bool>& heavy);

// ---- small_m_epilogues.cpp
// Fuses a small-M GEMM with weights and the kernels around it into one kernel: a prologue, such as a norm,
// and an epilogue per element, such as a bias and an activation. A run for one token consists of such
// matmuls, whose time is the time to read weights, and of small kernels between them, whose time is the time
// of a launch.
//
//   prologue  (Kernel::before) a kernel over rows that computes A. Every block runs all of it while its first
//             weights are loaded, and stores A in shared memory; only the first block stores other results
//   epilogue  a kernel without reductions that reads the result at the current element, or one element of
//             each of a few adjacent parts of its columns (a gate and the gated values, for example)
//
// A matmul is fused only if its number of rows is never larger than the template supports
// (codegen/cuda/small_m/). A matmul without such neighbours uses the template, too.

/// Runs on programs for a GPU, between `lower` and `schedule_kernels`.
bool fuse_small_m(Program& program, const Target& target);

// ---- gemm_epilogues.cpp
// Epilogue fusion for sm_90a: a matmul and the kernel that reads its result element by element become one
// kernel, a template (codegen/cuda/gemm/) with that kernel's instructions as its epilogue. The two steps
// become the first variant of a choice; the template with tiles of several sizes makes the other variants,
// and the executor uses the fastest. If Target::gemm_epilogues fixes the tiles, the template replaces the two
// steps instead.
//
// The kernel must have a single column block, whose columns are the columns of the result, and no reduction
// along a row. It must read the result at the current element. It may accumulate column sums if its partial
// parameter has at least as many rows as the result has rows of tiles. If other steps read the result, too,
// the template stores it.

/// Runs on programs for a GPU, between `lower` and `schedule_kernels`.
bool offer_gemm_epilogues(Program& program, const Target& target);

// ---- merge_launches.cpp
// Merges independent steps that run the same small kernel into one launch with several sets of arguments
// (Kernel::copies), at the position of the last of these steps. Examples are sums of partial sums, and
// additions of vectors to accumulated values, which run once per layer and whose results are first read by
// the update. A step moves down only past steps that it does not conflict with, and only if the moves extend
// the lifetime of little memory.

/// Runs on programs for a GPU, between order_steps and plan_memory.
bool merge_launches(Program& program);

// ---- side_by_side.cpp
// Horizontal fusion: independent steps become one launch, whose blocks are divided among their kernels
// (Kernel::beside). When a few tokens are generated at a time, a launch takes longer than the work of a
// kernel. A step moves down to the last step of its launch, and only past steps that it does not conflict
// with.

/// Runs on programs for a GPU, between merge_launches and plan_memory, on entries that keep tokens.
bool run_side_by_side(Program& program);

}  // namespace smelt
