#include "compiler/cli/shared/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>

#include "llvm/ADT/STLExtras.h"

namespace smelt::cli {
namespace {

constexpr char kGuard = '\x1f';  // at the end of a text: no text ends with a separator of units

/// A prompt may be empty, and a list of tokens none.
bool may_be_empty(const std::string& name) {
  constexpr std::string_view kTexts[] = {"prompt", "sample-prompt", "ids", "text"};
  return name.empty() || llvm::is_contained(kTexts, name) || name.ends_with("-id") ||
         name.ends_with("-ids") || name.ends_with("-tokens");
}

std::string problem_with_empty(const std::string& text) {
  return text.empty() ? "expected a value, found an empty text" : "";
}

void guard(CLI::Option& option) {
  if (option.get_expected_max() == 0) return;
  if (!option.get_lnames().empty() && !may_be_empty(option.get_lnames().front()))
    option.check(CLI::Validator(problem_with_empty, ""));
  option.transform(CLI::Validator(
      [](std::string& text) {
        text = unguarded(std::move(text));
        return std::string();
      },
      ""));
}

void check_flag(const CLI::Option& option, const std::string& word, const std::string& value) {
  try {
    CLI::detail::to_flag_value(value);
  } catch (const std::logic_error&) {
    throw CLI::ValidationError(fmt::format("{}: expected true or false behind {}", word, option.get_name()));
  }
}

/// "--resume=maybe".
void check_flag(const CLI::App& command, const std::string& word) {
  const size_t equals = word.find('=');
  if (!word.starts_with("--") || equals == std::string::npos) return;
  const CLI::Option* option = command.get_option_no_throw(word.substr(0, equals));
  if (option && option->get_expected_max() == 0) check_flag(*option, word, word.substr(equals + 1));
}

/// The command that the words call; null where there is none.
const CLI::App* called(const CLI::App& app, const std::vector<std::string>& words) {
  const auto commands = app.get_subcommands(
      [&](const CLI::App* command) { return !words.empty() && words.front() == command->get_name(); });
  return commands.empty() ? nullptr : commands.front();
}

}  // namespace

std::string guarded(std::string text) {
  if (text.ends_with(']')) text += kGuard;
  return text;
}

std::string unguarded(std::string text) {
  if (text.ends_with(kGuard)) text.pop_back();
  return text;
}

void guard_options(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; }))
    for (CLI::Option* option : command->get_options()) guard(*option);
}

std::vector<std::string> guarded_words(const CLI::App& app, int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  const auto end = std::ranges::find(words, "--");  // no options follow
  if (const CLI::App* command = called(app, words)) {
    std::for_each(words.begin(), end, [&](const std::string& word) { check_flag(*command, word); });
    for (std::string& word : words) word = guarded(std::move(word));
  }
  std::ranges::reverse(words);
  return words;
}

}  // namespace smelt::cli
