// Conversion of a data set's tensors to the types of an entry's inputs, and checks of their values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "runtime/engine/weights/safetensors.h"
#include "runtime/plan/plan.h"

namespace smelt {

/// Returns whether tensors of type `stored` can feed the input: integers and booleans feed i32, floats feed
/// f32. U8 also feeds f32 inputs of images, which have two or more dims per record.
bool is_readable(DType stored, const Port& port);
/// Returns the names of the types that can feed the input: "I32, I64, U16, U8, BOOL".
std::string readable_names(const Port& port);

/// Copies elements [begin, begin + count) of the tensor to `out`, converted to `wanted`, which is i32 or f32.
/// U8 values are divided by 255 if `wanted` is f32.
void read_elements(const TensorView& tensor, int64_t begin, int64_t count, DType wanted, std::byte* out);

/// An invalid value: its position in the tensor, and a description of the value and of the expected values.
struct BadValue {
  int64_t element;
  std::string text;
};
/// Returns the first value that is not valid for the input: an integer that is outside the range Port::ids or
/// needs more than 32 bits, or a float that is not finite. Returns nothing if all are valid.
std::optional<BadValue> find_bad_value(const TensorView& tensor, const Port& port);

}  // namespace smelt
