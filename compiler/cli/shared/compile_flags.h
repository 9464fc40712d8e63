// CompileFlags: the options of compilation (the rows of compiler/compile_options.def) as command-line flags.
#pragma once

#include <CLI/CLI.hpp>
#include <initializer_list>
#include <string>
#include <vector>

#include "compiler/driver/option_table.h"

namespace smelt::cli {

struct CompileFlags {
  CompileOptions values = default_options();  // the command's defaults, overridden by the command line
  bool says_memory = true;    // prints the planned memory to stderr before any of it is allocated
  bool says_fallback = true;  // prints a note to stderr if the target "native" is the CPU

  /// Adds --target, --max, the options that control and show the passes, and the options of `groups`. The
  /// current `values` become the command's defaults.
  void add_to(CLI::App& app, std::initializer_list<OptionGroup> groups);
  /// Adds all options of compilation that affect a plan, for the commands compile, dump, report and diff.
  void add_all_to(CLI::App& app);

  /// Checks that no flags were given that would change the compilation, because the plan was loaded from
  /// `file` and is already compiled. Throws Error with the names of the options that differ from their
  /// defaults. The options in `read` are allowed, because the command uses them for a plan, too. `target`:
  /// the plan's target, which --target may name.
  void refuse_for_plan(const std::string& file, std::string_view target,
                       std::initializer_list<std::string_view> read) const;
  /// Returns the value of an option as text. Requires: `name` is a row of compile_options.def.
  std::string text(std::string_view name) const { return find_option(name)->get(values); }
  /// Checks that the options do not contradict each other, and returns them. Prints the note of
  /// says_fallback.
  CompileOptions options() const;

 private:
  void add(CLI::App& app, const CompileOption& option);
  CLI::Option* add_switch(CLI::App& app, const CompileOption& option, const std::string& name, bool value);
  CLI::Option* add_valued(CLI::App& app, const CompileOption& option, const std::string& name);

  const CLI::App* command_ = nullptr;  // the command that the options were added to; null: none
  CompileOptions defaults_;
};

/// Returns flags with these values, for a caller that is not a command. The result's functions print nothing
/// to stderr.
CompileFlags silent_flags(CompileOptions values);

/// Adds the upper bound `upper` of a symbolic size, such as B (batch size), unless `bounds` already has a
/// bound of that symbol. A bound of a product of symbols does not count. Returns whether the bound was added.
bool default_bound(std::vector<Symbols::Bound>& bounds, std::string_view symbol, int64_t upper);

/// Bounds of symbols that the user did not set with --max, and that other options of the command determine.
class DefaultBounds {
 public:
  /// Calls default_bound. `option` is the option that `upper` comes from, such as "--batch".
  void add(std::vector<Symbols::Bound>& bounds, std::string_view symbol, int64_t upper, std::string option);
  /// Returns a text such as "B is set by --batch, T by --length"; empty if add() has added no bound.
  std::string text() const;

 private:
  std::vector<std::pair<std::string, std::string>> set_;  // symbol, option
};

/// Prints to stderr the time of each phase in ms, the table of passes, and the kernels whose schedules were
/// tuned.
void print_timing(const Compilation& compilation);

}  // namespace smelt::cli
