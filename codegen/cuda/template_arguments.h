// Shorthand for the launches of templates (TemplateLaunch).
#pragma once

#include <optional>
#include <string>

#include "runtime/plan/plan.h"
#include "runtime/plan/step_places.h"

namespace smelt {

inline Dim field(std::string name) { return Dim::symbol(std::move(name)); }

/// An address of elements of type `dtype`; without a type, of bytes.
inline TemplateLaunch::Argument address(std::string name, std::optional<DType> dtype, PlaceUse use,
                                        int64_t alignment = 1) {
  return {TemplateLaunch::Argument::Kind::address,
          field(std::move(name)),
          alignment,
          dtype,
          use == PlaceUse::read || use == PlaceUse::read_write,
          use == PlaceUse::write || use == PlaceUse::read_write};
}
/// An address that the kernel takes and does not use.
inline TemplateLaunch::Argument unused_address(std::string name, DType dtype) {
  return {TemplateLaunch::Argument::Kind::address, field(std::move(name)), 1, dtype};
}
inline TemplateLaunch::Argument integer(Dim value) {
  return {TemplateLaunch::Argument::Kind::integer, std::move(value)};
}
inline TemplateLaunch::Argument real(std::string name) {
  return {TemplateLaunch::Argument::Kind::real, field(std::move(name))};
}

}  // namespace smelt
