// Helpers of the tests of structured output.
#pragma once

#include <memory>
#include <random>
#include <string>
#include <string_view>

#include "runtime/base/error.h"
#include "runtime/structured/json_schema.h"
#include "runtime/structured/matcher.h"
#include "runtime/system/json_text.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt::structured {

using AutomatonPointer = std::shared_ptr<const Automaton>;

inline bool matches(const AutomatonPointer& automaton, std::string_view text) {
  Matcher matcher(automaton);
  return matcher.advance(text) && matcher.can_end();
}

inline AutomatonPointer schema_automaton(std::string_view schema, SchemaOptions options = {}) {
  return compile(json_schema_grammar(parse_ordered_json(schema, "schema"), options));
}

/// Returns the message of the error that a function throws; "" if it throws none.
template <typename F>
std::string error_of(F f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace smelt::structured
