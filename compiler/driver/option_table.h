// The table of compile options (compiler/compile_options.def), as the command line, the C interface, Python,
// the plan cache and the pages of documentation read it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/driver/option_forms.h"
#include "runtime/base/error.h"

namespace smelt {

/// Options that commands take together, in the order of the page.
enum class OptionGroup : uint8_t {
  common,
  entries,
  mode,
  inputs,
  caches,
  sampling,
  dropout,
  trained,
  optimizer,
  memory,
  ranks,
  stage,
  mesh,
  passes
};
/// "Optimiser": the title of the options in a help text and on the page.
std::string_view title(OptionGroup group);

struct CompileOption {
  std::string_view name;  // "weight-type"
  OptionGroup group;
  ValueKind kind;
  std::string values;  // that the option takes: of one_of "float|int8"
  std::string_view help;
  /// Sets the option from its text. Throws Error saying what was expected.
  std::function<void(CompileOptions&, std::string_view text)> set;
  /// The text of the value; empty where the option is not set.
  std::function<std::string(const CompileOptions&)> get;
};
const std::vector<CompileOption>& option_table();
/// The option of this name, with dashes or underscores; null where there is none.
const CompileOption* find_option(std::string_view name);

/// The options of a user who sets none.
CompileOptions default_options();
/// Checks the options against one another, and fills in derived ones. `has_mode`: whether the user could set
/// the mode. Throws Error naming the options as the command line does.
CompileOptions checked_options(CompileOptions options, bool has_mode = true);

/// The spelling of options: "--weight-type", "weight-type=" or "weight_type=".
enum class OptionSpelling : uint8_t { command_line, c, python };
std::string spelled(std::string_view name, OptionSpelling spelling);
/// The message with options of the command line, such as "--mode=infer", as they are written elsewhere.
std::string respelled(std::string_view message, OptionSpelling spelling);

/// Sets the option of this name; "no-NAME" sets a toggle to false. Throws Error naming the option and what
/// was expected; for an unknown name, the nearest ones.
void set_option(CompileOptions& options, std::string_view name, std::string_view text,
                OptionSpelling spelling);
/// The name that an option of the version before has now, with dashes; empty where the name is no early one.
std::string_view new_name(std::string_view name);
/// "--gemm-bodies is now --gemm-epilogues"; empty where the name is no early one.
std::string renamed_option(std::string_view name, OptionSpelling spelling);

/// Returns what `call` returns; its errors name options as they are written there.
template <typename Call>
auto with_spelling(OptionSpelling spelling, Call call) {
  try {
    return call();
  } catch (const Error& error) {
    throw Error(respelled(error.what(), spelling), error.status());
  }
}

}  // namespace smelt
