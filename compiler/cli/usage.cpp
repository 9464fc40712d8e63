#include "compiler/cli/usage.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "ir/text/nearest_names.h"
#include "llvm/ADT/STLExtras.h"

namespace smelt::cli {
namespace {

/// Names of options in other programs.
struct Synonym {
  std::string_view word, option;
};
constexpr Synonym kSynonyms[] = {{"--epochs", "--steps"},
                                 {"--num-epochs", "--steps"},
                                 {"--num-train-epochs", "--steps"},
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
    return fmt::format("{} has no option {}{}", command ? command->get_name() : "smelt", option,
                       suggestion(option, names_of_options(command ? *command : app)));
  }
  if (command) return fmt::format("{} takes no further word '{}'", command->get_name(), word);
  return fmt::format("there is no command '{}'{}", word, did_you_mean(word, names_of_commands(app)));
}

}  // namespace

std::string usage_problem(const CLI::App& app, const CLI::ParseError& problem) {
  const auto called = app.get_subcommands();
  const CLI::App* command = called.empty() ? nullptr : called.front();
  std::string text;
  std::vector<std::string> words = app.remaining(true);
  // What follows an unknown command is its own, and what follows an unknown option its value.
  if (!command && !words.empty()) words.resize(1);
  if (llvm::any_of(words, is_option))
    llvm::erase_if(words, [](const auto& word) { return !is_option(word); });
  for (const std::string& word : words)
    text += fmt::format("{}{}", text.empty() ? "" : "\n", unknown_word(app, command, word));
  return fmt::format("{}\n`smelt {}--help` lists the {}", text.empty() ? problem.what() : text,
                     command ? command->get_name() + " " : "", command ? "options" : "commands");
}

}  // namespace smelt::cli
