// Functions that make a call of a pass for the pass manager. There is one function per row of passes.def,
// with the name of the pass. It returns a PassCall (ir/pass.h), which is the pass together with its options.
// Example: pass::fuse({.target = target}).
#pragma once

#include "ir/pass.h"
#include "passes/graph/autodiff/differentiate.h"
#include "passes/graph/autodiff/differentiate_forward.h"
#include "passes/graph/autodiff/make_backward.h"
#include "passes/graph/autodiff/rematerialize.h"
#include "passes/graph/axes/axes_passes.h"
#include "passes/graph/axes/match_attention.h"
#include "passes/graph/axes/refine_axes.h"
#include "passes/graph/fusion/fuse.h"
#include "passes/graph/fusion/fuse_gemm_epilogues.h"
#include "passes/graph/fusion/merge_gemms.h"
#include "passes/graph/fusion/plan_neighbours.h"
#include "passes/graph/fusion/split_bodies.h"
#include "passes/graph/layout/assign_layout.h"
#include "passes/graph/layout/chunk_rows.h"
#include "passes/graph/layout/store_ports.h"
#include "passes/graph/pipeline/cut_stages.h"
#include "passes/graph/pipeline/pipeline_entries.h"
#include "passes/graph/pipeline/split_phases.h"
#include "passes/graph/precision/assign_precision.h"
#include "passes/graph/precision/pack_weights.h"
#include "passes/graph/precision/precision_passes.h"
#include "passes/graph/precision/quantize_activations.h"
#include "passes/graph/precision/quantize_matmuls.h"
#include "passes/graph/precision/quantize_weights.h"
#include "passes/graph/precision/round_results.h"
#include "passes/graph/reductions/rewrite_reductions.h"
#include "passes/graph/sharding/check_collectives.h"
#include "passes/graph/sharding/exchange_addends.h"
#include "passes/graph/sharding/leave_addends.h"
#include "passes/graph/sharding/partition.h"
#include "passes/graph/sharding/propagate_shardings.h"
#include "passes/graph/sharding/shard_sequences.h"
#include "passes/graph/sharding/shard_training.h"
#include "passes/graph/sharding/sums.h"
#include "passes/graph/simplify/bound_ids.h"
#include "passes/graph/simplify/decompose.h"
#include "passes/graph/simplify/guard_indices.h"
#include "passes/graph/simplify/simplify.h"
#include "passes/graph/training/apply_optimizer.h"
#include "passes/graph/training/evaluation_entry.h"
#include "passes/graph/training/flatten_parameters.h"
#include "passes/graph/training/freeze_parameters.h"
#include "passes/graph/training/select_entries.h"
#include "passes/graph/training/training_entries.h"
#include "passes/program/memory/memory_passes.h"
#include "passes/program/memory/plan_memory.h"
#include "passes/program/offload/offload_states.h"
#include "passes/program/offload/stream_states.h"
#include "passes/program/sharding/bucket_collectives.h"
#include "passes/program/sharding/fill_waits.h"
#include "passes/program/sharding/overlap_collectives.h"

namespace smelt::pass {

#define SMELT_PASS(name, ...)                                    \
  inline PassCall name(PassOptions<&smelt::name> options = {}) { \
    return call_of<&smelt::name>(#name, std::move(options));     \
  }
#include "passes/passes.def"

}  // namespace smelt::pass
