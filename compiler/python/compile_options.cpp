#include "compiler/python/bindings.h"

#include <fmt/ranges.h>
#include <nanobind/stl/string.h>

namespace smelt::python {
namespace {

namespace nb = nanobind;

std::string text_of(nb::handle value) { return nb::str(value).c_str(); }

/// A value as one would write it on the command line.
std::string value_text(nb::handle value) {
  std::vector<std::string> parts;
  if (nb::isinstance<nb::dict>(value)) {
    for (const auto& [key, each] : nb::borrow<nb::dict>(value))
      parts.push_back(text_of(key) + "=" + text_of(each));
  } else if (nb::isinstance<nb::list>(value) || nb::isinstance<nb::tuple>(value)) {
    for (nb::handle each : nb::iter(value)) parts.push_back(text_of(each));
  } else {
    return text_of(value);
  }
  return fmt::format("{}", fmt::join(parts, ","));
}

/// Sets the option; nothing where the value is None.
void set(CompileOptions& options, const std::string& name, nb::handle value) {
  const CompileOption* option = find_option(name);
  const bool is_switched = nb::isinstance<nb::bool_>(value);
  if (value.is_none() && option) return;
  if (option && is_switch(option->kind) != is_switched)
    fail("{}={}: expected {}", name, nb::repr(value).c_str(), is_switched ? "a value" : "True or False");
  set_option(options, name, is_switched ? nb::cast<bool>(value) ? "true" : "false" : value_text(value),
             OptionSpelling::python);
}

}  // namespace

CompileOptions compile_options(const nb::dict& options) {
  CompileOptions all = default_options();
  for (const auto& [name, value] : options) set(all, nb::cast<std::string>(name), value);
  return all;
}

nb::dict compile_option_rows() {
  nb::dict rows;
  const CompileOptions standard = default_options();
  for (const CompileOption& option : option_table()) {
    const std::string value = option.get(standard), name = spelled(option.name, OptionSpelling::python);
    nb::dict row;
    row["default"] = value.empty() ? nb::none() : nb::object(nb::str(value.c_str()));
    row["values"] = option.values;
    row["help"] = std::string(option.help);
    rows[name.substr(0, name.size() - 1).c_str()] = row;
  }
  return rows;
}

}  // namespace smelt::python
