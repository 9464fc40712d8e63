// Conversion of the values in a TransformerSpec to and from JSON. write() returns the JSON value. If the
// JSON value is valid, read() sets `value` and returns an empty text; otherwise it returns an error message
// and leaves `value` unchanged. Numbers must be from `low` to `high`; other types ignore these arguments.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>
#include <type_traits>

#include "frontend/transformer_spec.h"

namespace smelt::spec_value {

/// The names in JSON of the enumerators of E, in the order of the enumerators.
template <typename E>
struct Choices;
#define SMELT_CHOICES(type, ...)                               \
  template <>                                                  \
  struct Choices<type> {                                       \
    static constexpr std::string_view names[] = {__VA_ARGS__}; \
  };
SMELT_CHOICES(NormKind, "layer", "rms")
SMELT_CHOICES(NormPlace, "pre", "post", "output", "sandwich")
SMELT_CHOICES(Activation, "relu", "gelu_tanh", "gelu_erf", "silu", "quick_gelu", "tanh")
SMELT_CHOICES(PositionKind, "none", "learned", "sinusoidal", "rope", "relative_buckets", "alibi")
SMELT_CHOICES(RopeScaling, "none", "linear", "dynamic", "llama3", "yarn", "longrope")
SMELT_CHOICES(LayerAttention, "full_attention", "sliding_attention")
SMELT_CHOICES(HeadKind, "none", "lm", "mlm", "sequence_classes", "image_classes", "token_classes", "spans",
              "choices", "pretraining")
SMELT_CHOICES(Problem, "one_class", "regression", "several_classes")
SMELT_CHOICES(Smoothing, "all", "others")
SMELT_CHOICES(TokenizerKind, "automatic", "none", "bytes")
#undef SMELT_CHOICES

template <typename T>
Json write(const T& value) {
  if constexpr (std::is_enum_v<T>)
    return Choices<T>::names[static_cast<size_t>(value)];
  else
    return value;
}

template <typename T>
Json write(const std::vector<T>& values) {
  Json list = Json::array();
  for (const T& value : values) list.push_back(write(value));
  return list;
}

/// Returns the error message for a number that is out of range.
inline std::string outside(const Json& json, double low, double high) {
  return fmt::format("{}, expected a value from {} to {}", brief(json), low, high);
}

inline std::string read(const Json& json, int64_t& value, int64_t low, int64_t high) {
  if (!json.is_number_integer()) return fmt::format("{}, expected an integer", brief(json));
  const bool huge = json.is_number_unsigned() && json.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX);
  if (huge || json.get<int64_t>() < low || json.get<int64_t>() > high)
    return fmt::format("{}, expected an integer from {} to {}", brief(json), low, high);
  value = json.get<int64_t>();
  return "";
}

inline std::string read(const Json& json, double& value, double low, double high) {
  if (!json.is_number()) return fmt::format("{}, expected a number", brief(json));
  const auto number = json.get<double>();
  if (!(number >= low && number <= high)) return outside(json, low, high);
  value = number;
  return "";
}

inline std::string read(const Json& json, bool& value, double, double) {
  if (!json.is_boolean()) return fmt::format("{}, expected true or false", brief(json));
  value = json.get<bool>();
  return "";
}

inline std::string read(const Json& json, std::string& value, double, double) {
  if (!json.is_string()) return fmt::format("{}, expected a string", brief(json));
  value = json.get<std::string>();
  return "";
}

template <typename E>
  requires std::is_enum_v<E>
std::string read(const Json& json, E& value, double, double) {
  const auto& names = Choices<E>::names;
  if (json.is_string())
    for (size_t i = 0; i < std::size(names); ++i)
      if (json.get_ref<const std::string&>() == names[i]) {
        value = static_cast<E>(i);
        return "";
      }
  return fmt::format("{}, expected one of {}", brief(json), fmt::join(names, ", "));
}

/// Reads a list; a single value is read as a list of one element.
template <typename T>
std::string read(const Json& json, std::vector<T>& values, int64_t low, int64_t high) {
  std::vector<T> result;
  const Json list = json.is_array() ? json : Json::array({json});
  for (const Json& item : list) {
    T value = {};
    if (std::string text = read(item, value, low, high); !text.empty()) return text + " or a list of them";
    result.push_back(value);
  }
  values = std::move(result);
  return "";
}

}  // namespace smelt::spec_value
