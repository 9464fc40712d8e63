// A flat schema: constraints on a JSON value, separately for each type of value. It has no references ($ref)
// and no combinations such as anyOf. A JSON Schema is translated to a list of flat schemas, its alternatives;
// a value is valid if it satisfies one of them.
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
  kNumberType = 8,  // numbers with a fraction; together with kIntegerType: any number
  kStringType = 16,
  kArrayType = 32,
  kObjectType = 64,
  kAllTypes = 127
};

struct StringLimits {
  uint32_t least = 0, most = kUnbounded;  // length in code points
  std::vector<std::string> patterns, formats;
  bool is_free() const { return least == 0 && most == kUnbounded && patterns.empty() && formats.empty(); }
};

struct ArrayLimits {
  std::vector<SchemaJson> prefix;  // schemas of the first elements
  SchemaJson rest = true;          // schema of all later elements
  uint32_t least = 0, most = kUnbounded;
  bool is_free() const { return prefix.empty() && rest == true && least == 0 && most == kUnbounded; }
};

using NamedSchemas = std::vector<std::pair<std::string, SchemaJson>>;

struct ObjectLimits {
  NamedSchemas properties;
  NamedSchemas patterns;  // first: a regular expression; the schema is for properties whose names match it
  SchemaJson additional = true;  // for names that are not in `properties` and match no pattern
  std::vector<std::string> required;
  std::vector<SchemaJson> names;  // schemas that all names must satisfy
  uint32_t least = 0, most = kUnbounded;
  bool is_free() const {
    return properties.empty() && patterns.empty() && additional == true && required.empty() &&
           names.empty() && least == 0 && most == kUnbounded;
  }
};

struct FlatSchema {
  uint32_t types = kAllTypes;
  std::optional<std::vector<SchemaJson>> values;  // const or enum; nothing: any value of `types`
  StringLimits string;
  NumberLimits number;
  ArrayLimits array;
  ObjectLimits object;
};

/// Return the schema of the values that satisfy both a and b. The first function returns nothing if no type
/// or no fixed value satisfies both. Throws Error (invalid_argument) if the combination of the patterns of
/// names cannot be expressed.
std::optional<FlatSchema> both(const FlatSchema& a, const FlatSchema& b);
SchemaJson both(const SchemaJson& a, const SchemaJson& b);

/// Returns the TypeBit of a value. 1.0 is an integer.
uint32_t type_of(const SchemaJson& value);
/// Returns whether two JSON values are equal; the order of members has no meaning.
bool same_value(const SchemaJson& a, const SchemaJson& b);

/// Throws Error (invalid_argument) with the keyword if a search pattern of JSON Schema cannot be parsed.
void check_pattern(const std::string& pattern, std::string_view keyword);
/// Returns the language of the strings in which a search pattern has a match. Throws the Error of
/// check_pattern.
Language pattern_language(const std::string& pattern, std::string_view keyword);
/// Returns the language of the strings that satisfy the limits. If `values` is set, the strings must also be
/// one of the values.
Language string_language(const StringLimits& limits,
                         const std::optional<std::vector<SchemaJson>>& values = {});
/// Returns whether a fixed value (const, enum) satisfies the other constraints of the schema. Throws Error
/// (invalid_argument) if the value is a list or an object and the schema has constraints for lists or
/// objects.
bool satisfies(const SchemaJson& value, const FlatSchema& schema);

}  // namespace smelt::structured
