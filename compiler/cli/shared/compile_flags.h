// Options of compilation as flags of a command: the rows of compiler/compile_options.def.
#pragma once

#include <CLI/CLI.hpp>
#include <initializer_list>
#include <string>
#include <vector>

#include "compiler/driver/option_table.h"

namespace smelt::cli {

struct CompileFlags {
  CompileOptions values = default_options();  // given, over the defaults of the command
  bool says_memory = true;                    // on stderr, before any of it is allocated
  bool says_fallback = true;                  // on stderr, where "native" is the CPU

  /// Adds --target, --max, the options that steer and show the passes, and those of `groups`. The values
  /// before are the command's defaults.
  void add_to(CLI::App& app, std::initializer_list<OptionGroup> groups);
  /// Adds all options of making a plan: of compile, dump, report and diff.
  void add_all_to(CLI::App& app);

  /// Refuses the options given that cannot change the compiled plan of a file: those with other values than
  /// their defaults, without those that the command reads for a plan, `read`. Throws Error naming them.
  void refuse_for_plan(const std::string& file, std::string_view target,
                       std::initializer_list<std::string_view> read) const;
  /// The value of an option as text. Requires: a name of the table.
  std::string text(std::string_view name) const { return find_option(name)->get(values); }
  /// The options, checked. Notes on stderr that "native" means the CPU here, where says_fallback.
  CompileOptions options() const;

 private:
  void add(CLI::App& app, const CompileOption& option);
  CLI::Option* add_switch(CLI::App& app, const CompileOption& option, const std::string& name, bool value);
  CLI::Option* add_valued(CLI::App& app, const CompileOption& option, const std::string& name);

  const CLI::App* command_ = nullptr;  // that has the options
  CompileOptions defaults_;
};

/// Flags of a caller that is no command: nothing is said on stderr.
CompileFlags silent_flags(CompileOptions values);

/// Bounds `symbol` where the user has not; returns whether it did.
bool default_bound(std::vector<Symbols::Bound>& bounds, std::string_view symbol, int64_t upper);

/// Bounds that commands take from other options than --max, where that does not name the symbol.
class DefaultBounds {
 public:
  /// `option` is the one that `upper` comes from, such as "--batch".
  void add(std::vector<Symbols::Bound>& bounds, std::string_view symbol, int64_t upper, std::string option);
  /// "B is set by --batch, T by --length"; empty where --max set all.
  std::string text() const;

 private:
  std::vector<std::pair<std::string, std::string>> set_;  // symbol, option
};

/// Prints the seconds by phase and the table of passes to stderr.
void print_timing(const Compilation& compilation);

}  // namespace smelt::cli
