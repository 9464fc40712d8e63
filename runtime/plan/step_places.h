// Memory operands of every kind of step, for validation, dependence and footprint analysis.
#pragma once

#include <string_view>
#include <vector>

#include "runtime/plan/kernel_check.h"
#include "runtime/plan/plan.h"

namespace smelt {

/// An operand of a step: its role, with the field that has it.
struct StepPlace : role::Operand {
  std::string_view name;  // "a", "bias"
  const BufferRef* ref;
  bool reads() const { return use == PlaceUse::read || use == PlaceUse::read_write; }
  bool writes() const { return is_result() || use == PlaceUse::scratch; }
  bool is_result() const { return use == PlaceUse::write || use == PlaceUse::read_write; }
};

/// Lists the operands in the order of the step's fields, written ones last. They point into the step.
std::vector<StepPlace> places(const Step& step);

/// Returns the buffers that a step's arguments point into, in the same order.
std::vector<BufferRef> references(const Step& step);

/// Returns the elements of the operand's buffer at these values.
AccessBox box_of(const StepPlace& place, const SymbolValues& values);

}  // namespace smelt
