// smelt options: the tables of compile options and environment variables, as text and as the files made from
// them.
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <regex>

#include "compiler/cli/command.h"
#include "compiler/cli/shared/text_table.h"
#include "compiler/driver/option_table.h"
#include "runtime/system/environment.h"

namespace smelt::cli {
namespace {

struct OptionsCommand {
  bool environment = false, markdown = false, python = false;
};

constexpr std::string_view kOptionsPage = R"(# Compile options

Made by `smelt options --markdown > docs/reference/compile_options.md` from `compiler/compile_options.def`. The same option is written

| where | option with a value | switch | switched off |
|---|---|---|---|
| command line | `--weight-type=int8` | `--kv-cache` | `--no-kv-cache` |
| config file of `train` (`--config`) | `"optimizer": "adamw"` | `"tune": true` | `"tune": false` |
| C (`smelt_compile`) | `"weight-type=int8"` | `"kv-cache"` | `"no-kv-cache"` |
| Python (`smelt.compile`) | `weight_type="int8"` | `kv_cache=True` | `kv_cache=False` |

`smelt compile`, C and Python take all of them, other commands those that they have a use for (`--help` lists them). `smelt train`
has other defaults: `clip` is 1. A plan that was compiled before with the same options is taken from the plan cache.
)";

constexpr std::string_view kEnvironmentPage = R"(# Environment variables

Made by `smelt options --environment --markdown > docs/reference/environment.md` from `runtime/system/environment.def`. A variable that is
set to an empty text counts as not set; a value that a variable does not take is an error of the command that reads it.
`smelt doctor` lists all of Smelt's own with their values, and those of other programs that are set.
)";

constexpr std::string_view kPythonFile =
    R"("""Options of smelt.compile, for type checkers; docs/reference/compile_options.md explains them.

Made by `smelt options --python > compiler/python/smelt/options.py`.
"""

from __future__ import annotations

from typing import Literal, Mapping, Sequence, TypedDict, Union


class CompileOptions(TypedDict, total=False):
)";

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

/// Pages that a help text names, as links.
std::string linked(std::string_view help) {
  static const std::regex page(R"(docs/(\w+)/(\w+)\.md)");
  return std::regex_replace(std::string(help), page, "[$2](../$1/$2.md)");
}

std::string values_text(const CompileOption& option) { return replaced(option.values, "|", ", "); }

std::string code(std::string_view text) { return text.empty() ? "" : fmt::format("`{}`", text); }

TextTable options_of(std::string_view section, bool markdown) {
  TextTable table({"option", "values", "default", "meaning"});
  const CompileOptions standard = default_options();
  const auto marked = [&](std::string text) { return markdown ? code(text) : text; };
  for (const CompileOption& option : option_table())
    if (title(option.group) == section)
      table.add({marked(std::string(option.name)), values_text(option), marked(option.get(standard)),
                 markdown ? linked(option.help) : std::string(option.help)});
  return table;
}

/// The titles of groups, each once.
std::vector<std::string_view> sections() {
  std::vector<std::string_view> titles;
  for (const CompileOption& option : option_table())
    if (std::ranges::find(titles, title(option.group)) == titles.end()) titles.push_back(title(option.group));
  return titles;
}

std::string options_text(bool markdown) {
  std::string text(markdown ? kOptionsPage : "");
  for (const std::string_view section : sections()) {
    const TextTable table = options_of(section, markdown);
    text += markdown ? fmt::format("\n## {}\n\n{}", section, table.markdown())
                     : fmt::format("{}\n{}\n", section, table.text());
  }
  return text;
}

std::string environment_text(bool markdown) {
  constexpr std::string_view kTitles[] = {"Smelt's own", "Runs of several ranks", "Set by launchers",
                                          "Of other programs and libraries"};
  std::string text(markdown ? kEnvironmentPage : "");
  for (size_t group = 0; group < std::size(kTitles); ++group) {
    TextTable table({"variable", "values", "default", "meaning"});
    for (const VariableInfo& variable : variables())
      if (static_cast<size_t>(variable.group) == group)
        table.add({markdown ? code(variable.name) : std::string(variable.name), variable.values.str(),
                   std::string(variable.standard), std::string(variable.help)});
    text += markdown ? fmt::format("\n## {}\n\n{}", kTitles[group], table.markdown())
                     : fmt::format("{}\n{}\n", kTitles[group], table.text());
  }
  return text;
}

std::string python_type(const CompileOption& option) {
  switch (option.kind) {
    case ValueKind::flag:
    case ValueKind::toggle:
      return "bool";
    case ValueKind::one_of:
      return "Literal[\"" + replaced(option.values, "|", "\", \"") + "\"]";
    case ValueKind::whole:
      return "int";
    case ValueKind::real:
      return "float";
    case ValueKind::bytes:
      return "Union[str, int]";
    case ValueKind::list:
      return "Union[str, Sequence[str]]";
    case ValueKind::bounds:
      return "Union[str, Mapping[str, int]]";
    case ValueKind::text:
      return "str";
  }
  return {};
}

std::string python_text() {
  std::string text(kPythonFile);
  for (const std::string_view section : sections()) {
    text += fmt::format("    # {}.\n", section);
    for (const CompileOption& option : option_table())
      if (title(option.group) == section)
        text +=
            fmt::format("    {}: {}\n", replaced(std::string(option.name), "-", "_"), python_type(option));
  }
  return text;
}

void run_options(const OptionsCommand& options) {
  const std::string text = options.python        ? python_text()
                           : options.environment ? environment_text(options.markdown)
                                                 : options_text(options.markdown);
  std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace

void add_options(CLI::App& app) {
  auto options = std::make_shared<OptionsCommand>();
  CLI::App* command =
      app.add_subcommand("options", "List the options of compilation, or environment variables");
  auto* environment = command->add_flag("--environment", options->environment, "environment variables");
  auto* markdown = command->add_flag("--markdown", options->markdown, "the page of the documentation");
  command->add_flag("--python", options->python, "the types of Python's keywords")
      ->excludes(environment)
      ->excludes(markdown);
  on_call(command, options, run_options);
}

}  // namespace smelt::cli
