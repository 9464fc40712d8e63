// Element types of tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace smelt {

enum class DType : uint8_t { f32, bf16, f16, f64, i32, i64, u16, u8, boolean, i8 };

/// "f32", "bf16", ..., "bool": the spelling of the text forms and of manifests.
std::string_view name(DType type);
std::optional<DType> parse_dtype(std::string_view name);

/// Returns the bytes of one element in memory; a boolean is one byte, 0 or 1.
int64_t size_of(DType type);
bool is_float(DType type);

}  // namespace smelt
