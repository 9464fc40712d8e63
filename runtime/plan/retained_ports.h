// Names of retained outputs ("kept ports"). These are outputs of a pipeline stage's entries, and the inputs
// of later runs that read them. Their tensors stay in the stage's own memory (runtime/session/stage_memory.h)
// from the run or message that writes them to the runs that read them. They are the tensors that cross a
// boundary between parts of the model ("values.", "gradients."), and those that forward saves for backward
// ("saved.").
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "runtime/plan/plan.h"

namespace smelt {

inline constexpr std::array<std::string_view, 3> kKeptPorts = {"values.", "saved.", "gradients."};

/// Returns whether a port name is that of a retained output, such as "values.3.0", "saved.3.12" or
/// "gradients.4.1".
inline bool is_kept_port(std::string_view port) {
  return std::ranges::any_of(kKeptPorts, [&](std::string_view prefix) {
    return port.starts_with(prefix) && port.find('.', prefix.size()) != std::string_view::npos;
  });
}

/// Returns whether the plan is that of a pipeline stage, which has retained outputs.
inline bool keeps_ports(const Plan& plan) {
  const auto axis = plan.mesh.find(kStageAxis);
  return axis && plan.mesh.axes[*axis].size > 1;
}
/// Returns whether the port is a retained output of the plan.
inline bool is_kept_port(const Plan& plan, const Port& port) {
  return keeps_ports(plan) && is_kept_port(port.name);
}

}  // namespace smelt
