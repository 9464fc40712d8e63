// Shorthand for the launches of templates (TemplateLaunch).
#pragma once

#include <string>

#include "runtime/plan/plan.h"

namespace smelt {

inline Dim field(std::string name) { return Dim::symbol(std::move(name)); }

inline TemplateLaunch::Argument address(std::string name, int64_t alignment = 1) {
  return {TemplateLaunch::Argument::Kind::address, field(std::move(name)), alignment};
}
inline TemplateLaunch::Argument integer(Dim value) {
  return {TemplateLaunch::Argument::Kind::integer, std::move(value)};
}
inline TemplateLaunch::Argument real(std::string name) {
  return {TemplateLaunch::Argument::Kind::real, field(std::move(name))};
}

}  // namespace smelt
