// Launches of kernels that are compiled from Kernel IR.
#pragma once

#include "runtime/plan/steps/fields.h"

namespace smelt {

/// Selects the random numbers that a rank draws: part `part` of `parts` of a batch draws those of a
/// micro-step of its own, as if one rank ran the parts one after the other (Philox::of_part).
struct RandomPart {
  Dim parts = 1, part = 0;
  bool operator==(const RandomPart&) const = default;
};
template <typename V, Is<RandomPart> T>
void visit_fields(V& v, T& x) {
  v("parts", x.parts), v("part", x.part);
}

/// One launch of a kernel over its parallel range.
struct KernelStep {
  int kernel = -1;
  std::vector<BufferRef> arguments;           // in the order of the kernel's parameters
  std::vector<uint32_t> random_ids;           // in the order of the kernel's random instructions
  std::vector<RandomPart> random_parts = {};  // of each of them; empty: no draw belongs to a part
};

template <>
struct StepKind<KernelStep> {
  static constexpr std::string_view name = "kernel", keyword = "launch";
  static constexpr bool by_template = false;
};
template <typename V, Is<KernelStep> T>
void visit_fields(V& v, T& x) {
  v("kernel", x.kernel, role::attribute("a kernel"));
  v("arguments", x.arguments, [] { return role::Operand{}; });
  v("random_ids", x.random_ids, role::attribute("random ids"));
  v("random_parts", x.random_parts, role::attribute("parts of a batch"));
}

}  // namespace smelt
