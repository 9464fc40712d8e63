// Grammars of the JSON texts that a JSON Schema (drafts 7 and 2020-12) allows.
#pragma once

#include <nlohmann/json.hpp>

#include "runtime/structured/grammar.h"
#include "runtime/structured/json_grammar.h"

namespace smelt::structured {

struct SchemaOptions {
  JsonLayout layout;
  /// Treat oneOf as anyOf if its alternatives may overlap. Otherwise, such a oneOf is an error.
  bool overlapping_one_of = false;
};

/// Returns the grammar of the texts that satisfy the schema. Every text of the grammar is valid. Every valid
/// value has a text in the grammar, with these restrictions on the spelling:
/// - Properties have the order of the schema: those of `properties`, then those that only `required` has,
///   then all others. A name that `properties` has occurs once; others may be repeated.
/// - An integer has no fraction and no exponent. A number with bounds has no exponent and, with a fraction,
///   at most 15 digits; it is not -0 if its lower bound is 0.
/// - Strings with a pattern, a format or fixed values, and names of properties, escape only characters that
///   must be escaped. No string has a surrogate without its other half.
/// - Some formats are narrower (string_formats.h).
/// Throws Error (invalid_argument) with the keyword and its position in the schema if a keyword cannot be
/// enforced, such as `not`, and if nothing satisfies the schema.
Grammar json_schema_grammar(const nlohmann::ordered_json& schema, const SchemaOptions& options = {});

/// Returns the grammar of any JSON object; with `any_value`, of any JSON value.
Grammar json_value_grammar(JsonLayout layout, bool any_value = false);

}  // namespace smelt::structured
