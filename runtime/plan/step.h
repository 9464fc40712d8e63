// The steps of a plan, which run one after the other on operands in buffers. Each kind has a header of its
// own.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/plan/steps/collective.h"
#include "runtime/plan/steps/copy.h"
#include "runtime/plan/steps/fill.h"
#include "runtime/plan/steps/gemm.h"
#include "runtime/plan/steps/kernel.h"
#include "runtime/plan/steps/sample.h"
#include "runtime/plan/steps/scan.h"
#include "runtime/plan/steps/sort_index.h"
#include "runtime/plan/steps/top_k.h"

/// Calls DECLARE(Kind) for every kind of step: a back end declares one function per kind with it.
#define SMELT_STEP_KINDS(DECLARE) \
  DECLARE(KernelStep)             \
  DECLARE(GemmStep)               \
  DECLARE(SortIndexStep)          \
  DECLARE(ScanStep)               \
  DECLARE(TopKStep)               \
  DECLARE(SampleStep)             \
  DECLARE(CopyStep)               \
  DECLARE(FillStep)               \
  DECLARE(CollectiveStep)

namespace smelt {

template <typename None, typename... Kinds>
using VariantOf = std::variant<Kinds...>;
#define SMELT_AFTER_COMMA(Kind) , Kind
using AnyStep = VariantOf<void SMELT_STEP_KINDS(SMELT_AFTER_COMMA)>;
#undef SMELT_AFTER_COMMA

struct Step {
  AnyStep what;
  std::vector<int> reads, writes;              // buffers
  std::vector<std::pair<int, int>> may_alias;  // (written, read) buffers that may share memory
  std::vector<std::string> sources;            // names of the nodes it came from
  std::string phase;                           // "forward", "backward", "update"
  /// Whether an earlier step of the entry has computed these products of matrices before, to save memory.
  bool recomputed = false;
  /// Kernels of the plan that are launched on a GPU with the step's fields (TemplateLaunch), one after the
  /// other: they carry out the step. For a gemm the first one that takes the sizes does, or is measured
  /// against the library's (TemplateLaunch::measured).
  std::vector<int> kernels = {};
  /// For steps that are one of several variants of the same work: the index into PlanEntry::choices, and
  /// which of its alternatives. All steps of a choice are contiguous, those of its first alternative first.
  int choice = -1, alternative = 0;
};

/// Returns CollectiveStep::waited_at or CopyStep::waited_at; -1 for all other steps.
int waited_at(const Step& step);

}  // namespace smelt
