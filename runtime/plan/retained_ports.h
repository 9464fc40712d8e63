// Names of retained outputs ("kept ports"). A retained output is an output of an entry of a pipeline stage
// that a later run reads as an input of the same name. Its tensor stays in the memory of the stage
// (runtime/session/stage_memory.h) until the last run that reads it. There are three kinds, with these
// prefixes: "values." for tensors that cross a boundary between two parts of the model; "gradients." for the
// gradients of these tensors; and "saved." for tensors that the forward pass of a part saves for its backward
// pass. The prefix is followed by the number of the part and the number of the tensor: "values.3.0" is tensor
// 0 at the boundary before part 3.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "runtime/plan/plan.h"

namespace smelt {

/// Prefixes of the names of retained outputs.
inline constexpr std::array<std::string_view, 3> kKeptPorts = {"values.", "saved.", "gradients."};

/// Returns whether a port name is that of a retained output, such as "values.3.0", "saved.3.12" or
/// "gradients.4.1".
inline bool is_kept_port(std::string_view port) {
  return std::ranges::any_of(kKeptPorts, [&](std::string_view prefix) {
    return port.starts_with(prefix) && port.find('.', prefix.size()) != std::string_view::npos;
  });
}

/// Returns whether the plan is that of a pipeline stage. Only such plans have retained outputs.
inline bool keeps_ports(const Plan& plan) {
  const auto axis = plan.mesh.find(kStageAxis);
  return axis && plan.mesh.axes[*axis].size > 1;
}
/// Returns whether the port is a retained output of the plan.
inline bool is_kept_port(const Plan& plan, const Port& port) {
  return keeps_ports(plan) && is_kept_port(port.name);
}

}  // namespace smelt
