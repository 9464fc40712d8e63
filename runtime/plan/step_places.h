// Where steps read and write, told once for all kinds of them: what validation checks, and what dependences
// and footprints are made of.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/plan.h"

namespace smelt {

enum class PlaceUse : uint8_t {
  read,
  write,
  read_write,
  scratch,  // written and then read: nothing of it is a result
  either,   // of a kernel's arguments: KernelCode::parameters says
};

/// An extent with the distance in elements between its indices. They point into the step, or to constants.
struct Walk {
  const Dim *extent, *stride;
};

/// A place of a step, and the elements that it touches from there on: those of all walks.
struct StepPlace {
  std::string_view name;  // of the field: "a", "bias"; "argument" of a kernel's
  const BufferRef* ref;
  PlaceUse use;
  std::vector<Walk> walks = {};
  bool reads() const { return use == PlaceUse::read || use == PlaceUse::read_write; }
  bool writes() const { return is_result() || use == PlaceUse::scratch; }
  bool is_result() const { return use == PlaceUse::write || use == PlaceUse::read_write; }
};

/// In the order of the step's fields, what is written last. Valid as long as the step is.
std::vector<StepPlace> places(const Step& step);

/// Buffers that a step's arguments point into, in the same order.
std::vector<BufferRef> references(const Step& step);

}  // namespace smelt
