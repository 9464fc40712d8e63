// Functions of the thread IR: device functions, and the function that the host launches.
#pragma once

#include <string>
#include <vector>

#include "codegen/gpu/thread_ir/statement.h"

namespace smelt::gpu {

struct Parameter {
  Type type;
  std::string name;
};

struct Function {
  std::string name;
  std::vector<Parameter> parameters;
  Body code;
  /// Conditions on parameters under which VectorAccess::Aligned::by_sizes is aligned. If there are any, the
  /// function has two forms: one for launches at which all conditions hold, and one for the others.
  std::vector<Expr> alignment_conditions = {};
  int group = 1;  // threads that a barrier of a group or of a part of a warp waits for
};

/// A function that the host launches, and the device functions that it calls. Its code also reads the arrays
/// shared_floats and shared_ints of the thread block.
struct Launch {
  std::string name;
  int threads = 0;  // of a thread block: the launch has no more
  std::vector<Parameter> pointers, numbers;
  /// Sets of pointers. If there are several, the thread block's row in the grid selects one
  /// (ExprNode::Kind::argument).
  int copies = 1;
  int64_t shared_floats = 1, shared_ints = 1;  // elements
  std::vector<Function> functions = {};
  Body code = {};
  /// The code detects the last thread block that ends (the device function is_last_block).
  bool has_last_block = false;
  int group = 1;  // as Function::group
};

}  // namespace smelt::gpu
