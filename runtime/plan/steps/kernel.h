// The step that launches a kernel of the plan (KernelCode).
#pragma once

#include "runtime/plan/steps/fields.h"

namespace smelt {

/// Selects the random numbers of a rank that computes part number `part` of a batch that is divided into
/// `parts` parts. Each part uses the random numbers of a separate micro-step, as if one rank ran the parts
/// one after the other (Philox::of_part).
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
  int kernel = -1;  // index into Plan::kernels
  /// The arguments, in the order of the kernel's parameters. If KernelCode::copies is above 1, the list has
  /// one set of arguments per copy, one after the other.
  std::vector<BufferRef> arguments;
  /// One id per random instruction of the kernel, in their order. Different ids give independent numbers.
  std::vector<uint32_t> random_ids;
  /// One per random id. Empty: the random numbers do not depend on parts of a batch.
  std::vector<RandomPart> random_parts = {};
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
