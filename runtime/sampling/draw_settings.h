// Conversion of DrawSettings (token_weights.h) to rows of tensors, and back. DrawSettings are the settings
// for drawing one token. The op `sample` reads them from its operands `numbers` and `integers`, which have
// one row per token to draw and one column per setting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/sampling/token_weights.h"

namespace smelt {

/// Columns of `numbers`, f32[rows,kDrawNumbers].
enum class DrawNumber : uint8_t {
#define SMELT_DRAW_NUMBER(name) name,
#define SMELT_DRAW_INTEGER(name, type)
#include "runtime/sampling/draw_settings.def"
  count
};
/// Columns of `integers`, i32[rows,kDrawIntegers].
enum class DrawInteger : uint8_t {
#define SMELT_DRAW_NUMBER(name)
#define SMELT_DRAW_INTEGER(name, type) name,
#include "runtime/sampling/draw_settings.def"
  count
};
inline constexpr auto kDrawNumbers = static_cast<int64_t>(DrawNumber::count),
                      kDrawIntegers = static_cast<int64_t>(DrawInteger::count);

/// Returns the settings of one row. `number(i)` and `integer(i)` return the values in column i of the row.
template <typename Number, typename Integer>
DrawSettings settings_of_columns(const Number& number, const Integer& integer) {
  DrawSettings settings;
#define SMELT_DRAW_NUMBER(name) settings.name = number(static_cast<size_t>(DrawNumber::name));
#define SMELT_DRAW_INTEGER(name, type) \
  settings.name = static_cast<type>(integer(static_cast<size_t>(DrawInteger::name)));
#include "runtime/sampling/draw_settings.def"
  return settings;
}

/// Appends the settings of one row to `numbers` and `integers`.
inline void append_columns(const DrawSettings& settings, std::vector<float>& numbers,
                           std::vector<int32_t>& integers) {
#define SMELT_DRAW_NUMBER(name) numbers.push_back(settings.name);
#define SMELT_DRAW_INTEGER(name, type) integers.push_back(static_cast<int32_t>(settings.name));
#include "runtime/sampling/draw_settings.def"
}

}  // namespace smelt
