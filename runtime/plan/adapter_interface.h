// Interface of a plan that has slots for low-rank adapters, which are loaded while the plan is in use. Each
// row of a run selects a slot by the input `adapters` (decode_contract.def).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/plan.h"

namespace smelt {

/// The member of Plan::model that describes the slots: an object with `slots`, `rank` and `modules`, the
/// names in files of each linear map with slots.
inline constexpr const char* kAdapterSlots = "adapters";

/// Names of the states with the matrices A [slots,rank,in] and B [slots,out,rank] of a linear map, or B
/// [slots,count,out,rank] of `count` stacked maps that share A.
std::string adapter_state_a(std::string_view module);
std::string adapter_state_b(std::string_view module);

/// A linear map with slots. B has `out` rows, those of all stacked maps together.
struct AdaptedLinear {
  std::string module;
  std::vector<std::string> names;  // of the module in files, without the prefix of files of adapters
  int64_t in = 0, out = 0;
};

struct AdapterInterface {
  /// Derives the interface from the plan's states and its description. If the plan has no slots, `slots` is
  /// 0. Throws Error (invalid_file) if a state is missing or has another shape than the description says.
  explicit AdapterInterface(const Plan& plan);

  int64_t slots = 0, rank = 0;
  std::vector<AdaptedLinear> linears;
};

/// Matrices of an adapter for one linear map: A [rank,in], and B [out,rank] times the adapter's scale.
struct AdapterMatrices {
  std::string module;
  int64_t rank = 0;
  std::vector<float> a, b;
};

/// Matrices of an adapter. A linear map without matrices is not changed by the adapter.
struct AdapterWeights {
  std::vector<AdapterMatrices> linears;
};

}  // namespace smelt
