// An entry with all its sizes evaluated for one set of symbol values: a run then only sets pointers and makes
// calls.
#pragma once

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "runtime/cpu/attention.h"
#include "runtime/cpu/collective.h"
#include "runtime/cpu/copy.h"
#include "runtime/cpu/narrow_gemm.h"
#include "runtime/cpu/sample.h"
#include "runtime/cpu/scan.h"
#include "runtime/cpu/top_k.h"
#include "runtime/plan/plan.h"

namespace smelt {

struct KernelLaunch {
  KernelFunctions functions;
  PreparedAttention attention = {};  // of a part of attention
  std::vector<void*> buffers;
  std::vector<int64_t> dims;
  const uint32_t* random_ids = nullptr;
  size_t random_count = 0;
  std::vector<std::pair<int64_t, int64_t>> random_parts;  // parts and part, as KernelStep::random_parts
  int64_t range = 0, chunk = 1, chunks = 0;
};
struct GemmLaunch {
  void *a = nullptr, *b = nullptr, *c = nullptr, *bias = nullptr;
  TypedGemm gemm;
};
struct SortLaunch {
  void *indices = nullptr, *permutation = nullptr, *begins = nullptr;
  int64_t count = 0, rows = 0;
};
struct ScanLaunch {
  void *x = nullptr, *y = nullptr;
  ScanSizes sizes;
};
struct TopKLaunch {
  void *x = nullptr, *values = nullptr, *indices = nullptr;
  TopKSizes sizes;
};
struct SampleLaunch {
  void *scores = nullptr, *numbers = nullptr, *integers = nullptr;
  void *tokens = nullptr, *log_probabilities = nullptr;
  SampleSizes sizes;
};
struct CopyLaunch {
  void *from = nullptr, *to = nullptr;
  PreparedCopy copy;
};
struct FillLaunch {
  void* to = nullptr;
  int64_t count = 0;
  DType dtype = DType::f32;
  double value = 0;
};
struct CollectiveLaunch {
  void *from = nullptr, *to = nullptr;
  CollectiveSizes sizes;
};
using Launch = std::variant<KernelLaunch, GemmLaunch, SortLaunch, ScanLaunch, TopKLaunch, SampleLaunch,
                            CopyLaunch, FillLaunch, CollectiveLaunch>;

struct ResolvedEntry {
  /// A pointer into a buffer whose place changes from run to run.
  struct Patch {
    void** pointer;
    int buffer;
    int64_t offset_bytes;
  };
  struct ResolvedPort {
    int64_t bytes = 0;          // dense, at these values
    bool whole_buffer = false;  // the port has all elements of its buffer
  };

  ResolvedEntry() = default;
  ResolvedEntry(ResolvedEntry&&) =
      default;  // patches stay: moving a vector keeps its elements where they are
  ResolvedEntry& operator=(ResolvedEntry&&) = default;

  const PlanEntry* entry = nullptr;
  SymbolValues values;
  std::vector<Launch> launches;
  std::vector<Patch> patches;
  std::vector<ResolvedPort> inputs, outputs;
};

/// Checks all ranges at these values. `bases` holds the address of every buffer; null for inputs and outputs,
/// which become patches. Launches point into `plan`.
ResolvedEntry resolve(const Plan& plan, const PlanEntry& entry, const SymbolValues& values,
                      const std::vector<KernelFunctions>& functions, const std::vector<std::byte*>& bases);

}  // namespace smelt
