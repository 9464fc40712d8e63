// Slots for low-rank adapters (lora_config.h) that a server loads while it runs. The matrices of all slots
// are stacked in two states per linear map, and each row of a run selects a slot:
//
//   y[b] = x[b] W^T + b + (x[b] A[slot[b]]^T) B[slot[b]]^T     A [slots,rank,in], B [slots,out,rank]
//
// The factor of an adapter is part of its B. Rows of A and columns of B beyond an adapter's rank are zero.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "frontend/parameter_names.h"
#include "ir/graph/graph.h"
#include "runtime/engine/adapters/lora_config.h"

namespace smelt {

struct BlockBuilder;  // frontend/blocks/blocks.h
struct BuildOptions;  // frontend/build_transformer.h

/// The linear maps that have slots, and the names of all linear maps of the blocks. All graphs of a Module
/// share the object while they are built.
class AdapterSlots {
 public:
  AdapterSlots(int64_t count, int64_t rank, const std::vector<std::string>& targets);

  int64_t count() const { return count_; }
  int64_t rank() const { return rank_; }
  /// Returns whether the linear map of a block has slots, and records its names. `name`: of its weight.
  bool adapts(const ParameterName& name);
  /// Returns the member "adapters" of the model's description (runtime/plan/adapter_interface.h). Throws
  /// Error for a target that is no linear map of a block.
  Json description() const;

 private:
  int64_t count_, rank_;
  LoraConfig config_;
  std::set<std::string> linears_;
  std::map<std::string, std::vector<std::string>> adapted_;  // names in files of the maps with slots
};

/// Returns y, the result of the linear map of x at `place`, plus the addend of each row's adapter if the map
/// has slots. Rows that select no adapter keep the bits of y. `count` and the shapes of x and y are those of
/// adapter() (adapters.h).
Value* with_adapter_slots(BlockBuilder& b, const Place& place, Value* x, Value* y, int64_t count);

}  // namespace smelt
