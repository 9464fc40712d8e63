// Differences between the languages of GPUs in which thread IR is printed. Each of them is C++ with
// qualifiers and functions of its own; the printers of this folder print the rest alike.
#pragma once

#include <string_view>

namespace smelt {

/// A language: names of functions, whose arguments are the operands of the node or statement, and qualifiers.
struct Language {
  std::string_view difference;          // of two reals, never a part of a fused multiply-add
  std::string_view to_int32, to_int64;  // a real rounded toward zero; saturates, and 0 for NaN as an int32
  std::string_view shuffled;            // of a mask, a value, and the bits in which two lanes' numbers differ
  std::string_view lanes_barrier;       // waits for the lanes of a mask
  std::string_view aligned;             // qualifier of an array whose address is a multiple of 16 bytes
  std::string_view by_value;            // qualifier of a launch's parameter that is a struct
};

}  // namespace smelt
