#include "compiler/cli/shared/usage.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "compiler/cli/shared/words.h"
#include "compiler/driver/option_table.h"
#include "ir/text/names.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

namespace smelt::cli {
namespace {

/// Names of options in other programs.
struct Synonym {
  std::string_view word, option;
};
constexpr Synonym kSynonyms[] = {{"--num-epochs", "--epochs"},
                                 {"--num-train-epochs", "--epochs"},
                                 {"--max-steps", "--steps"},
                                 {"--max-iters", "--steps"},
                                 {"--iterations", "--steps"},
                                 {"--gradient-accumulation-steps", "--accumulate"},
                                 {"--gradient-accumulation", "--accumulate"},
                                 {"--grad-accum", "--accumulate"},
                                 {"--batch-size", "--batch"},
                                 {"--train-batch-size", "--batch"},
                                 {"--per-device-train-batch-size", "--batch"},
                                 {"--micro-batch-size", "--batch"},
                                 {"--warmup-steps", "--warmup"},
                                 {"--max-grad-norm", "--clip"},
                                 {"--grad-clip", "--clip"},
                                 {"--lr-scheduler-type", "--schedule"},
                                 {"--lr-scheduler", "--schedule"},
                                 {"--output-dir", "--run-dir"},
                                 {"--out-dir", "--run-dir"},
                                 {"--save-steps", "--checkpoint-every"},
                                 {"--save-every", "--checkpoint-every"},
                                 {"--save-total-limit", "--keep"},
                                 {"--eval-steps", "--eval-every"},
                                 {"--resume-from-checkpoint", "--resume"},
                                 {"--train-file", "--data"},
                                 {"--dataset", "--data"},
                                 {"--validation-file", "--validation-data"},
                                 {"--max-seq-length", "--length"},
                                 {"--max-seq-len", "--length"},
                                 {"--seq-len", "--length"},
                                 {"--sequence-length", "--length"},
                                 {"--block-size", "--length"},
                                 {"--context-length", "--length"},
                                 {"--dtype", "--precision"},
                                 {"--fp16", "--precision"},
                                 {"--bf16", "--precision"},
                                 {"--device", "--target"},
                                 {"--max-tokens", "--max-new-tokens"},
                                 {"--new-tokens", "--max-new-tokens"},
                                 {"--beam-size", "--num-beams"},
                                 {"--beams", "--num-beams"},
                                 {"--output-file", "--output"},
                                 {"--num-threads", "--threads"}};

bool is_option(const std::string& word) { return word.starts_with("-"); }

std::vector<std::string> names_of_commands(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

std::vector<std::string> names_of_options(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

/// Options of the command that are spelled alike, or that other programs call so.
std::string suggestion(std::string option, const std::vector<std::string>& names) {
  std::ranges::replace(option, '_', '-');
  const auto synonym = llvm::find_if(kSynonyms, [&](const Synonym& s) { return s.word == option; });
  if (synonym != std::end(kSynonyms) && llvm::is_contained(names, synonym->option))
    return fmt::format("; did you mean {}?", synonym->option);
  return did_you_mean(option, names);
}

/// `command` is null where none was called.
std::string unknown_word(const CLI::App& app, const CLI::App* command, const std::string& word) {
  if (is_option(word)) {
    const std::string option = word.substr(0, word.find('='));
    const std::vector<std::string> names = names_of_options(command ? *command : app);
    if (llvm::is_contained(names, fmt::format("--{}", new_name(option.substr(2)))))
      return renamed_option(option.substr(2), OptionSpelling::command_line);
    return fmt::format("{} has no option {}{}", command ? command->get_name() : "smelt", option,
                       suggestion(option, names));
  }
  if (command) return fmt::format("{} takes no further word '{}'", command->get_name(), word);
  return fmt::format("there is no command '{}'{}", word, did_you_mean(word, names_of_commands(app)));
}

bool is_positive(const CLI::App* command, const std::string& option) {
  const CLI::Option* found = command ? command->get_option_no_throw(option) : nullptr;
  return found && found->get_type_name().find(":POSITIVE") != std::string::npos;
}

bool is_of_a_value(const CLI::ParseError& problem) {
  return dynamic_cast<const CLI::ValidationError*>(&problem) ||
         dynamic_cast<const CLI::ConversionError*>(&problem);
}

}  // namespace

std::string plain_problem(const CLI::App* command, const std::string& text) {
  const auto [before, range] = llvm::StringRef(text).split(" not in range ");
  const auto [option, value] = before.split(": Value ");
  const auto [least, most] = range.split(" to ");
  double from = 0, to = 0;
  if (least.getAsDouble(from) || most.getAsDouble(to)) return text;
  constexpr double kAny = 1e300;
  std::string expected = fmt::format("{} to {}", from, to);
  if (to > kAny) expected = is_positive(command, option.str()) ? "a number above 0" : "a number from 0 on";
  return fmt::format("{}: {}, expected {}", option.str(), value.str(), expected);
}

std::string usage_problem(const CLI::App& app, const CLI::ParseError& problem) {
  const auto called = app.get_subcommands();
  const CLI::App* command = called.empty() ? nullptr : called.front();
  std::string text;
  std::vector<std::string> words;
  if (!command || !is_of_a_value(problem)) words = app.remaining(true);
  // Words after an unknown command belong to it, and the word after an unknown option is its value.
  if (!command && !words.empty()) words.resize(1);
  if (llvm::any_of(words, is_option))
    llvm::erase_if(words, [](const auto& word) { return !is_option(word); });
  for (const std::string& word : words)
    text += fmt::format("{}{}", text.empty() ? "" : "\n", unknown_word(app, command, unguarded(word)));
  return fmt::format("{}\n`smelt {}--help` lists the {}",
                     text.empty() ? plain_problem(command, problem.what()) : text,
                     command ? command->get_name() + " " : "", command ? "options" : "commands");
}

}  // namespace smelt::cli
