// A Program: a straight list of steps over buffers for every entry, with its kernels. Steps, buffers, states
// and ports are the plan's own types (runtime/plan/plan.h); kernels are still Kernel IR here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/kernel/kernel.h"
#include "runtime/plan/plan.h"

namespace smelt {

struct Program {
  Symbols symbols;
  Mesh mesh;  // of the ranks that run it together
  std::vector<State> states;
  std::vector<Buffer> buffers;
  std::vector<PlanEntry> entries;
  std::vector<Kernel> kernels;
  std::string description;
};

std::string print(const Program& program);
/// Parses the text of print; throws Error with file, line, column, the line and a caret.
Program parse_program(std::string_view text, std::string_view file = "<text>");

}  // namespace smelt
