// Tables of the filters, tests, methods and globals that templates can use, by name.
#pragma once

#include <string_view>

#include "runtime/templates/objects.h"

namespace smelt::templates {

/// A filter, such as `upper` in {{ text | upper }}. `subject` is the value to which it is applied.
struct Filter {
  std::string_view name;
  Value (*body)(Interpreter&, const Value& subject, Arguments&);
};

/// A test, such as `defined` in {% if x is defined %}. `subject` is the value that is tested.
struct Test {
  std::string_view name;
  bool (*body)(Interpreter&, const Value& subject, Arguments&);
};

/// Return null for unknown names.
const Filter* find_filter(std::string_view name);
const Test* find_test(std::string_view name);
/// Returns whether Jinja has a filter of this name that Smelt does not have.
bool omitted_filter(std::string_view name);

/// Return the method of this name: of texts; of lists and tuples; of dicts; of numbers with the type of
/// `number` (int or float). Null if there is no such method.
Function::Body find_text_method(std::string_view name);
Function::Body find_sequence_method(std::string_view name);
Function::Body find_dict_method(std::string_view name);
Function::Body find_number_method(const Value& number, std::string_view name);

/// Returns whether the language has a global variable or function of this name, such as `range`, and stores
/// it in `out`.
bool find_global(Budget& budget, std::string_view name, Value& out);

}  // namespace smelt::templates
