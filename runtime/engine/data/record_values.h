// Numbers of a data set's tensors as the types that inputs have.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "runtime/engine/weights/safetensors.h"
#include "runtime/plan/plan.h"

namespace smelt {

/// Returns whether tensors of this type can feed the input. U8 feeds floats where a record is an image, of
/// two dims or more.
bool is_readable(DType stored, const Port& port);
/// Returns the types that can be read: "I32, I64, U16, U8 or BOOL".
std::string readable_names(const Port& port);

/// Copies elements [begin, begin + count) as i32 or f32; U8 that feeds f32 becomes value / 255.
void read_elements(const TensorView& tensor, int64_t begin, int64_t count, DType wanted, std::byte* out);

/// The first invalid value of an input: its position and its text.
struct BadValue {
  int64_t element;
  std::string text;
};
std::optional<BadValue> find_bad_value(const TensorView& tensor, const Port& port);

}  // namespace smelt
