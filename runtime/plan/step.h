// The steps of a plan. The steps of an entry run one after the other, and their operands are in buffers. Each
// kind of step is defined in a header in runtime/plan/steps/.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/plan/steps/collective.h"
#include "runtime/plan/steps/copy.h"
#include "runtime/plan/steps/dequantize.h"
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
  DECLARE(DequantizeStep)         \
  DECLARE(CopyStep)               \
  DECLARE(FillStep)               \
  DECLARE(CollectiveStep)

namespace smelt {

/// The std::variant of `Kinds`. `None` is not used: it is the `void` in the definition of AnyStep, which
/// expands to VariantOf<void, KernelStep, GemmStep, ...>.
template <typename None, typename... Kinds>
using VariantOf = std::variant<Kinds...>;
#define SMELT_AFTER_COMMA(Kind) , Kind
using AnyStep = VariantOf<void SMELT_STEP_KINDS(SMELT_AFTER_COMMA)>;
#undef SMELT_AFTER_COMMA

/// One operation of an entry, with the buffers that it reads and writes.
struct Step {
  AnyStep what;                                // the operation and its operands
  std::vector<int> reads, writes;              // indices into Plan::buffers
  std::vector<std::pair<int, int>> may_alias;  // pairs of (written, read) buffers that may share memory
  std::vector<std::string> sources;            // names of the graph nodes that the step was made from
  std::string phase;                           // "forward", "backward", "update"
  /// True if the step computes matrix products again that an earlier step of the entry has computed. Their
  /// results were not stored, to save memory.
  bool recomputed = false;
  /// Template kernels (TemplateLaunch), as indices into Plan::kernels, that carry out the step on a GPU. They
  /// are launched one after the other, with the step's fields as arguments. For a gemm, only the first kernel
  /// whose conditions hold is launched. If TemplateLaunch::measured is set for it, the runtime measures it,
  /// and launches it only if it is faster than the library.
  std::vector<int> kernels = {};
  /// A choice is a list of alternative step sequences, of which a run executes one. If the step belongs to a
  /// choice, `choice` is the index of that choice in PlanEntry::choices, and `alternative` is the number of
  /// the sequence. -1: the step belongs to no choice. The steps of a choice are contiguous, in the order of
  /// the alternatives.
  int choice = -1, alternative = 0;
};

/// Returns CollectiveStep::waited_at or CopyStep::waited_at. Returns -1 for all other steps.
int waited_at(const Step& step);

}  // namespace smelt
