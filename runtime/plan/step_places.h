// Memory operands of steps of every kind, for validation, dependence analysis and footprint analysis.
#pragma once

#include <string_view>
#include <vector>

#include "runtime/plan/kernel_check.h"
#include "runtime/plan/plan.h"

namespace smelt {

/// An operand of a step: its role (steps/fields.h), and the field of the step that specifies it.
struct StepPlace : role::Operand {
  std::string_view name;  // of the field: "a", "bias"
  const BufferRef* ref;
  bool reads() const { return use == PlaceUse::read || use == PlaceUse::read_write; }
  bool writes() const { return is_result() || use == PlaceUse::scratch; }
  bool is_result() const { return use == PlaceUse::write || use == PlaceUse::read_write; }
};

/// Returns the operands in the order of the step's fields. The pointers StepPlace::ref point into `step`.
std::vector<StepPlace> places(const Step& step);

/// Returns the buffer and the offset of each operand (*StepPlace::ref), in the order of places().
std::vector<BufferRef> references(const Step& step);

/// Returns the elements that the step uses of the operand's buffer, at these values of the symbols.
AccessBox box_of(const StepPlace& place, const SymbolValues& values);

}  // namespace smelt
