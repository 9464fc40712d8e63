// Agreement of threads on values, as far as it follows from the number of the thread alone.
#pragma once

#include <functional>
#include <string>

#include "codegen/gpu/thread_ir/expression.h"

namespace smelt::gpu {

/// The threads that agree on a value: all of a thread block, those of a group, or perhaps none. Values that
/// the code loads, exchanges or changes count as `block`, because nothing is known of them.
enum class Agreement : uint8_t { block, group, none };

/// Returns who agrees on the value of an expression. `of_variable` returns it for a variable. Threads of a
/// group have consecutive numbers, the first of which is a multiple of `group`.
Agreement agreement_of(const Expr& value, int group,
                       const std::function<Agreement(const std::string&)>& of_variable);

}  // namespace smelt::gpu
