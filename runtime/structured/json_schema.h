// Grammars of the JSON texts that a JSON Schema (drafts 7 and 2020-12) allows.
#pragma once

#include <nlohmann/json.hpp>

#include "runtime/structured/grammar.h"
#include "runtime/structured/json_grammar.h"

namespace smelt::structured {

struct SchemaOptions {
  JsonLayout layout;
  /// True: a oneOf whose alternatives may overlap is treated as anyOf. False: it is an error.
  bool overlapping_one_of = false;
};

/// Returns the grammar of the texts that satisfy the schema. Every text of the grammar is valid. Every valid
/// value has a text in the grammar, with these restrictions on the spelling:
/// - Properties have the order of the schema: those of `properties`, then those that only `required` has,
///   then all others. A name in `properties` occurs at most once; others may be repeated.
/// - An integer has no fraction and no exponent. A number with bounds has no exponent. If such a number has a
///   fraction, it has at most 15 digits. It is not -0 if its lower bound is 0.
/// - Strings with a pattern, a format or fixed values, and names of properties, escape only characters that
///   must be escaped. No string has a surrogate without its other half.
/// - Some values of the keyword `format` allow fewer texts than their standards (string_formats.h).
/// Throws Error (invalid_argument) with the keyword and its position if a keyword of the schema, such as
/// `not`, cannot be enforced. Throws Error (invalid_argument) also if no value satisfies the schema.
Grammar json_schema_grammar(const nlohmann::ordered_json& schema, const SchemaOptions& options = {});

/// Returns the grammar of all JSON objects; if `any_value`, that of all JSON values.
Grammar json_value_grammar(JsonLayout layout, bool any_value = false);

}  // namespace smelt::structured
