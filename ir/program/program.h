// Program: one straight-line list of steps per entry, and the kernels that these steps run. Steps read and
// write buffers. Steps, buffers, states and ports have the types of a finished plan (runtime/plan/plan.h);
// kernels are Kernel IR (ir/kernel/kernel.h), and become machine code later.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/kernel/kernel.h"
#include "runtime/plan/plan.h"

namespace smelt {

/// The unit of program passes, which becomes a plan.
struct Program {
  Symbols symbols;
  Mesh mesh;  // of the ranks that run the program together; empty: one rank
  std::vector<State> states;
  std::vector<Buffer> buffers;
  std::vector<PlanEntry> entries;
  std::vector<Kernel> kernels;
  std::string description;  // becomes Plan::model
};

std::string print(const Program& program);
/// Parses the text that print returns. Throws Error with the file, line and column of a fault, and that line
/// with a caret under the column.
Program parse_program(std::string_view text, std::string_view file = "<text>");

}  // namespace smelt
