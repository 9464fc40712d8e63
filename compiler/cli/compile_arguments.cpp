#include "compiler/cli/compile_arguments.h"

#include <algorithm>

#include "runtime/error.h"

namespace smelt::cli {

std::unique_ptr<CLI::App> compile_command(CompileArguments& arguments) {
  auto command = std::make_unique<CLI::App>();
  command->set_help_flag();
  command->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  command->add_option("--entry", arguments.entries)->delimiter(',');
  arguments.flags.add_to(*command);
  arguments.flags.add_mesh(*command);
  arguments.flags.add_stage(*command);
  arguments.flags.add_mode(*command);
  arguments.flags.memory.add_to(*command);
  arguments.flags.says_memory = arguments.flags.says_fallback = false;
  return command;
}

void parse_words(CLI::App& command, std::vector<std::string> words) {
  std::ranges::reverse(words);  // as this function of CLI11 takes them
  try {
    command.parse(std::move(words));
  } catch (const CLI::ParseError& problem) {
    fail("compile: {}", problem.what());
  }
}

CompileArguments compile_arguments(std::vector<std::string> words) {
  CompileArguments arguments;
  parse_words(*compile_command(arguments), std::move(words));
  return arguments;
}

}  // namespace smelt::cli
