// Passes over the launches of a program for a GPU, by source file. A pass returns whether it has changed the
// program.
#pragma once

#include <vector>

#include "ir/kernel/kernel.h"
#include "ir/program/program.h"
#include "ir/target.h"

namespace smelt {

// ---- attach_tails.cpp
// Last-block epilogues: a step that is small enough for one block becomes the tail of another step's kernel
// (Kernel::tail). The last block of the kernel to end runs the tail, which saves a launch. Examples are the
// addition of partial sums, and computations of scalars. A step is moved only past steps that it does not
// conflict with (conflict_index.h), and only within its phase (Step::phase).

/// Runs on programs for a GPU, between order_steps and plan_memory.
bool attach_tails(Program& program);

// ---- fit_tails.cpp
// Last-block epilogues: kernels that the last block of another kernel runs (Kernel::tail).

/// Returns whether one block, with any number of threads, can run the whole kernel quickly. The kernel must
/// have few results, each of few terms, and its sizes must be constant.
bool can_be_tail(const Kernel& kernel);
/// Sets the schedules of the kernels in the tail of `kernel`. They get the same number of threads per block
/// as `kernel`.
void fit_tails(Kernel& kernel);

// ---- dependent_launches.cpp
// Programmatic dependent launch (sm_90): a GPU may start a marked kernel (Kernel::waits) before the preceding
// launches have ended. The code of a marked kernel waits for their end before it accesses memory that they
// write. The pass marks kernels in the entries that run for a few tokens at a time. Of the kernels with
// templates (attention, matmuls), it marks only those of decode attention.

/// Returns whether a step of the entry writes a cache that keeps values of each token, such as a KV cache
/// (Role::cache). Such an entry runs for a few tokens at a time.
bool keeps_tokens(const Program& program, const PlanEntry& entry);

/// Runs on programs for a GPU, after the passes that make kernels.
bool mark_dependent_launches(Program& program);

// ---- drop_alternatives.cpp
// Removes, from a program, variants whose kernels do not fit the registers.

/// A choice (PlanEntry::choices) is a list of variants of the same work, of which the executor uses the
/// fastest. `heavy[i]` is true if the code of kernel i spills registers. Erases the variants that run a heavy
/// kernel, if another variant of the same choice runs no heavy kernel. A variant that is chosen by sizes
/// (Choice::last_where) and not by measurement is never erased. Then erases kernels that no step runs any
/// more. The pass may run after memory has been planned: buffers keep their locations.
bool drop_alternatives(Program& program, const std::vector<bool>& heavy);

// ---- small_m_epilogues.cpp
// Fuses a small-M GEMM with weights and the kernels around it into one kernel: a prologue, such as a norm,
// and an epilogue per element, such as a bias and an activation. Fusion saves the launches of the small
// kernels between matmuls, which take much of the time of generating a token.
//
//   prologue  (Kernel::before) a kernel over rows that computes the matmul's left operand. Every block runs
//             the whole prologue while its first weights are loaded, and stores the operand in shared memory.
//             Only the first block stores other results of the prologue
//   epilogue  a kernel without reductions. It reads the result at the current element. If the result's
//             columns consist of a few adjacent parts (such as a gate and the gated values), it reads the
//             same column of each part
//
// A matmul is fused only if its number of rows is never larger than the template supports
// (codegen/cuda/small_m/), or its weights are bytes and the GPU has the template for any number of rows
// (codegen/cuda/byte_gemm/), which has no prologue. A matmul that has neither a prologue nor an epilogue uses
// the template, too.

/// Runs on programs for a GPU, between `lower` and `schedule_kernels`.
bool fuse_small_m(Program& program, const Target& target);

// ---- gemm_epilogues.cpp
// Epilogue fusion: a matmul and the kernel that reads its result element by element become one kernel. The
// fused kernel is a template (codegen/cuda/gemm/; one for sm_90a, and one for all GPUs from sm_80 on), whose
// epilogue has the instructions of the second kernel. The pass makes a choice: its first variant is the two
// separate steps, and each other variant is the fused kernel with another size of tiles. The executor
// measures the variants and uses the fastest. If Target::gemm_epilogues fixes the size of the tiles, there is
// no choice, and the fused kernel replaces the two steps.
//
// The second kernel must have a single column block, whose columns are the columns of the result, and no
// reduction along a row. It must read the result at the current element. It may accumulate column sums if the
// buffer of partial sums has a slice for each row of tiles of the result. If other steps read the result,
// too, the fused kernel also stores the result.

/// Runs on programs for a GPU, between `lower` and `schedule_kernels`.
bool offer_gemm_epilogues(Program& program, const Target& target);

// ---- merge_launches.cpp
// Merges independent steps that run the same small kernel into one launch with several sets of arguments
// (Kernel::copies), at the position of the last of these steps. An example is the addition of partial sums,
// once per layer. A step is moved down only past steps that it does not conflict with. Steps whose inputs
// take much memory are not merged, because this memory would be in use for longer.

/// Runs on programs for a GPU, between order_steps and plan_memory.
bool merge_launches(Program& program);

// ---- side_by_side.cpp
// Horizontal fusion: independent steps become one launch, whose blocks are divided among their kernels
// (Kernel::beside). When a few tokens are generated at a time, a launch takes longer than the work of a
// kernel. A launch is at the position of the last of its steps. The other steps are moved down to it, only
// past steps that they do not conflict with.

/// Runs on programs for a GPU, between merge_launches and plan_memory, on entries for which keeps_tokens is
/// true.
bool run_side_by_side(Program& program);

}  // namespace smelt
