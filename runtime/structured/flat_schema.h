// A schema without references and combinations: one alternative of a JSON Schema, as constraints per type.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/structured/language.h"
#include "runtime/structured/number_ranges.h"

namespace smelt::structured {

using SchemaJson = nlohmann::ordered_json;

enum TypeBit : uint32_t {
  kNullType = 1,
  kBooleanType = 2,
  kIntegerType = 4,
  kNumberType = 8,  // with kIntegerType: any number
  kStringType = 16,
  kArrayType = 32,
  kObjectType = 64,
  kAllTypes = 127
};

struct StringLimits {
  uint32_t least = 0, most = kUnbounded;  // code points
  std::vector<std::string> patterns, formats;
  bool is_free() const { return least == 0 && most == kUnbounded && patterns.empty() && formats.empty(); }
};

struct ArrayLimits {
  std::vector<SchemaJson> prefix;  // schemas of the first elements
  SchemaJson rest = true;          // schema of the others
  uint32_t least = 0, most = kUnbounded;
  bool is_free() const { return prefix.empty() && rest == true && least == 0 && most == kUnbounded; }
};

using NamedSchemas = std::vector<std::pair<std::string, SchemaJson>>;

struct ObjectLimits {
  NamedSchemas properties;
  NamedSchemas patterns;         // expressions of names
  SchemaJson additional = true;  // of names that are not in `properties` and match no pattern
  std::vector<std::string> required;
  std::vector<SchemaJson> names;  // schemas that all names satisfy
  uint32_t least = 0, most = kUnbounded;
  bool is_free() const {
    return properties.empty() && patterns.empty() && additional == true && required.empty() &&
           names.empty() && least == 0 && most == kUnbounded;
  }
};

struct FlatSchema {
  uint32_t types = kAllTypes;
  std::optional<std::vector<SchemaJson>> values;  // of const and enum
  StringLimits string;
  NumberLimits number;
  ArrayLimits array;
  ObjectLimits object;
};

/// Returns the schema of values that satisfy both; nothing if the types or fixed values exclude each other.
/// Throws Error (invalid_argument) if the combination of patterns of names cannot be expressed.
std::optional<FlatSchema> both(const FlatSchema& a, const FlatSchema& b);
SchemaJson both(const SchemaJson& a, const SchemaJson& b);

/// Returns the bits of a value's type. 1.0 is an integer.
uint32_t type_of(const SchemaJson& value);
/// Returns whether two JSON values are equal; the order of members has no meaning.
bool same_value(const SchemaJson& a, const SchemaJson& b);

/// Throws Error (invalid_argument) with the keyword if a search pattern of JSON Schema cannot be parsed.
void check_pattern(const std::string& pattern, std::string_view keyword);
/// Returns the language of a search pattern. Throws Error (invalid_argument) with the keyword.
Language pattern_language(const std::string& pattern, std::string_view keyword);
/// Returns the language of strings within limits; with `values`, of those that are one of the values.
Language string_language(const StringLimits& limits,
                         const std::optional<std::vector<SchemaJson>>& values = {});
/// Returns whether a fixed value satisfies the schema's other constraints. Throws Error (invalid_argument) if
/// the value is a list or an object and the schema has constraints for it.
bool satisfies(const SchemaJson& value, const FlatSchema& schema);

}  // namespace smelt::structured
