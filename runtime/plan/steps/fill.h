// The step that fills elements with a value.
#pragma once

#include <cmath>

#include "runtime/plan/steps/fields.h"

namespace smelt {

/// Sets `elements` contiguous elements from `to` on to one value, which is converted to the buffer's type.
struct FillStep {
  BufferRef to;
  Dim elements;
  double value = 0;
};

template <>
struct StepKind<FillStep> {
  static constexpr std::string_view name = "fill", keyword = "fill", text = "$to = $value of $elements",
                                    description = "fill of $elements elements";
  static constexpr bool by_template = false;
};
template <typename V, Is<FillStep> T>
void visit_fields(V& v, T& x) {
  v("to", x.to, [&] {
    role::Operand filled = role::writes(std::nullopt, {{x.elements}});
    if (x.value == std::trunc(x.value) && std::abs(x.value) <= INT32_MAX)
      filled.numbers = NumberRange{static_cast<int64_t>(x.value), static_cast<int64_t>(x.value)};
    return filled;
  });
  v("elements", x.elements, role::extent()), v("value", x.value, role::scalar);
}

}  // namespace smelt
