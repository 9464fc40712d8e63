// Checks of thread IR.
#pragma once

#include <string>
#include <vector>

#include "codegen/gpu/thread_ir/function.h"

namespace smelt::gpu {

/// The code of a thread, and what the code around it declares.
struct CheckedCode {
  const Body& code;
  std::vector<Expr> known;  // variables of the code around it, such as parameters
  int group = 1;            // threads of a group, which a barrier of a group or of a part of a warp waits for
};

/// Returns the faults of a launched function and of its device functions, each after the name of the
/// function.
std::vector<std::string> verify(const Launch& launch);
/// Returns a message per fault: a variable that is not declared, declared twice in a block, of another type
/// than its declaration, or assigned to though it is constant; operands of types that an operation does not
/// take; and a barrier that some of its threads provably do not reach, because a branch, a loop or an early
/// return around or before it depends on the number of the thread.
std::vector<std::string> verify(const CheckedCode& code);

}  // namespace smelt::gpu
