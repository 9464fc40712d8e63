// Tables of filters, tests, methods and globals.
#pragma once

#include <string_view>

#include "runtime/templates/objects.h"

namespace smelt::templates {

struct Filter {
  std::string_view name;
  Value (*body)(Interpreter&, const Value& subject, Arguments&);
};

struct Test {
  std::string_view name;
  bool (*body)(Interpreter&, const Value& subject, Arguments&);
};

/// Return null for unknown names.
const Filter* find_filter(std::string_view name);
const Test* find_test(std::string_view name);
/// Whether Jinja has this filter, and Smelt does not.
bool omitted_filter(std::string_view name);

/// Methods of texts, lists, tuples, dicts and numbers. Return null for unknown names.
Function::Body find_text_method(std::string_view name);
Function::Body find_sequence_method(std::string_view name);
Function::Body find_dict_method(std::string_view name);
Function::Body find_number_method(const Value& number, std::string_view name);

/// Returns whether the language has this global, and stores it in `out`.
bool find_global(Budget& budget, std::string_view name, Value& out);

}  // namespace smelt::templates
