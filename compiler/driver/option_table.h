// The table of compile options, whose rows are in compiler/compile_options.def. The command line, the C
// interface, Python, the plan cache and the documentation use it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/driver/option_forms.h"
#include "runtime/base/error.h"

namespace smelt {

/// Groups of options that a command accepts together, in the order of docs/reference/compile_options.md.
enum class OptionGroup : uint8_t {
  common,
  entries,
  mode,
  inputs,
  caches,
  cache_storage,
  sampling,
  serving,
  dropout,
  trained,
  optimizer,
  memory,
  ranks,
  stage,
  mesh,
  passes
};
/// Returns the title of a group in help texts and in docs/reference/compile_options.md, such as "Optimiser".
/// Several groups may have the same title.
std::string_view title(OptionGroup group);

/// A row of the table: one option of compilation.
struct CompileOption {
  std::string_view name;  // "weight-type"
  OptionGroup group;
  ValueKind kind;
  std::string values;  // text that describes the accepted values; "float|int8" if `kind` is one_of
  std::string_view help;
  /// Sets the option from a text. Throws Error with the expected form.
  std::function<void(CompileOptions&, std::string_view text)> set;
  /// Returns the value as text; empty if the option is not set.
  std::function<std::string(const CompileOptions&)> get;
};
const std::vector<CompileOption>& option_table();
/// Returns the option of this name, which may have dashes or underscores; null if there is none.
const CompileOption* find_option(std::string_view name);

/// Returns the values of all options if the user sets none.
CompileOptions default_options();
/// Checks that the options do not contradict each other, and sets options whose values are determined by
/// others. Throws Error; its message has the options' names as on the command line. `has_mode`: false for
/// commands that do not have the option --mode. A check whose message would ask the user for --mode is then
/// left out.
CompileOptions checked_options(CompileOptions options, bool has_mode = true);

/// Spelling of option names: "--weight-type", "weight-type=" or "weight_type=".
enum class OptionSpelling : uint8_t { command_line, c, python };
/// Returns the option name, which has dashes between words, in a spelling.
std::string spelled(std::string_view name, OptionSpelling spelling);
/// Returns the message with all option names in another spelling. In `message` they have the spelling of the
/// command line, such as "--mode=infer".
std::string respelled(std::string_view message, OptionSpelling spelling);

/// Sets the option of this name; "no-NAME" sets a toggle to false. Throws Error with the option's name and
/// the expected form, or, if the name is unknown, with similar names.
void set_option(CompileOptions& options, std::string_view name, std::string_view text,
                OptionSpelling spelling);
/// Returns the current name, with dashes, of an option that has been renamed; empty for all other names.
std::string_view new_name(std::string_view name);
/// Returns a message such as "--gemm-bodies is now --gemm-epilogues"; empty if the option has not been
/// renamed.
std::string renamed_option(std::string_view name, OptionSpelling spelling);

/// Returns call(). If that throws an Error, throws the same Error with a respelled message.
template <typename Call>
auto with_spelling(OptionSpelling spelling, Call call) {
  try {
    return call();
  } catch (const Error& error) {
    throw Error(respelled(error.what(), spelling), error.status());
  }
}

}  // namespace smelt
