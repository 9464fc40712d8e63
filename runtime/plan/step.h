// The steps of a plan. The steps of an entry run one after the other, and their operands are in buffers. Each
// kind of step is defined in a header in runtime/plan/steps/.
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

/// Expands DECLARE(Kind) for every kind of step. Back ends use it to declare one function per kind.
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

/// The variant of all kinds except the first argument, which SMELT_STEP_KINDS needs before its first comma.
template <typename None, typename... Kinds>
using VariantOf = std::variant<Kinds...>;
#define SMELT_AFTER_COMMA(Kind) , Kind
using AnyStep = VariantOf<void SMELT_STEP_KINDS(SMELT_AFTER_COMMA)>;
#undef SMELT_AFTER_COMMA

struct Step {
  AnyStep what;
  std::vector<int> reads, writes;              // indices into Plan::buffers
  std::vector<std::pair<int, int>> may_alias;  // pairs of (written, read) buffers that may share memory
  std::vector<std::string> sources;            // names of the graph nodes that the step was made from
  std::string phase;                           // "forward", "backward", "update"
  /// The step computes matrix products that an earlier step of the entry has computed too: they are computed
  /// again instead of stored, to save memory.
  bool recomputed = false;
  /// Template kernels (TemplateLaunch), as indices into Plan::kernels, that carry out the step on a GPU. They
  /// are launched one after the other with the step's fields as arguments. For a gemm, only the first kernel
  /// whose conditions hold is used; if it is TemplateLaunch::measured, it is used only if it is faster than
  /// the library.
  std::vector<int> kernels = {};
  /// For a step that is in an alternative of a choice: the index into PlanEntry::choices (-1: in none), and
  /// the number of the alternative. All steps of a choice are contiguous, and in the order of its
  /// alternatives.
  int choice = -1, alternative = 0;
};

/// Returns CollectiveStep::waited_at or CopyStep::waited_at. Returns -1 for all other steps.
int waited_at(const Step& step);

}  // namespace smelt
