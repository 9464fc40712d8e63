// Element types of tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace smelt {

/// f8e4m3 has a sign, 4 bits of exponent and 3 of mantissa, no infinities, and one NaN of either sign; the
/// largest number is 448 (Micikevicius et al., FP8 formats for deep learning, 2022).
enum class DType : uint8_t { f32, bf16, f16, f64, i32, i64, u16, u8, boolean, i8, f8e4m3 };

/// Returns the name as in the text forms of the IRs and in manifests: "f32", "bf16", ..., "bool".
std::string_view name(DType type);
/// Returns the type with this name; nothing if there is none.
std::optional<DType> parse_dtype(std::string_view name);

/// Returns the bytes of one element in memory; a boolean is one byte, 0 or 1.
int64_t size_of(DType type);
bool is_float(DType type);

}  // namespace smelt
