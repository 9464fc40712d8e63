#include "compiler/python/compile_options.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "ir/text/nearest_names.h"
#include "runtime/error.h"

namespace smelt::python {
namespace {

namespace nb = nanobind;

std::string option_name(std::string name) {
  std::ranges::replace(name, '_', '-');
  return "--" + name;
}

std::vector<std::string> names_in(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (std::string name : option->get_lnames()) {
      std::ranges::replace(name, '-', '_');
      names.push_back(std::move(name));
    }
  return names;
}

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

/// The word on the command line; nothing where the option stays as it is by default.
std::optional<std::string> word_for(const CLI::App& command, const std::string& name, nb::handle value) {
  const std::string option = option_name(name), opposite = option_name("no_" + name);
  const CLI::Option* found = command.get_option_no_throw(option);
  if (!found) fail("compile has no option {}{}", name, did_you_mean(name, names_in(command)));
  if (value.is_none()) return std::nullopt;
  const bool is_flag = found->get_items_expected_max() == 0, is_switch = nb::isinstance<nb::bool_>(value);
  if (is_flag != is_switch)
    fail("compile's option {}: expected {}, given {}", name, is_flag ? "True or False" : "a value",
         nb::repr(value).c_str());
  if (!is_switch) return option + "=" + value_text(value);
  if (nb::cast<bool>(value)) return option;
  return command.get_option_no_throw(opposite) ? std::optional(opposite) : std::nullopt;
}

}  // namespace

cli::CompileArguments compile_arguments(const nb::dict& options) {
  cli::CompileArguments arguments;
  const auto command = cli::compile_command(arguments);
  std::vector<std::string> words;
  for (const auto& [name, value] : options)
    if (auto word = word_for(*command, nb::cast<std::string>(name), value)) words.push_back(std::move(*word));
  cli::parse_words(*command, std::move(words));
  return arguments;
}

std::vector<std::string> compile_option_names() {
  cli::CompileArguments arguments;
  return names_in(*cli::compile_command(arguments));
}

}  // namespace smelt::python
