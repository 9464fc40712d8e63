// Functions that make the arguments of launches of template kernels (TemplateLaunch). `name` is the name of a
// field of the step; the field's value is passed to the kernel.
#pragma once

#include <optional>
#include <string>

#include "runtime/plan/plan.h"
#include "runtime/plan/step_places.h"

namespace smelt {

/// Returns the field's value as a symbol, for use in expressions.
inline Dim field(std::string name) { return Dim::symbol(std::move(name)); }

/// Returns an argument that is an address of elements of type `dtype`, or of bytes if `dtype` is empty.
/// `alignment`: bytes that the address must be a multiple of.
inline TemplateLaunch::Argument address(std::string name, std::optional<DType> dtype, PlaceUse use,
                                        int64_t alignment = 1) {
  return {TemplateLaunch::Argument::Kind::address,
          field(std::move(name)),
          alignment,
          dtype,
          use == PlaceUse::read || use == PlaceUse::read_write,
          use == PlaceUse::write || use == PlaceUse::read_write};
}
/// Returns an argument that is an address which the kernel does not access.
inline TemplateLaunch::Argument unused_address(std::string name, DType dtype) {
  return {TemplateLaunch::Argument::Kind::address, field(std::move(name)), 1, dtype};
}
/// Return an argument that is an integer, and one that is a real number.
inline TemplateLaunch::Argument integer(Dim value) {
  return {TemplateLaunch::Argument::Kind::integer, std::move(value)};
}
inline TemplateLaunch::Argument real(std::string name) {
  return {TemplateLaunch::Argument::Kind::real, field(std::move(name))};
}

}  // namespace smelt
