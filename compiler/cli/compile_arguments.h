// The options of `smelt compile` for those who are not the command line: the Python package and the C
// interface.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/cli/compile_flags.h"

namespace smelt::cli {

struct CompileArguments {
  CompileFlags flags;
  std::vector<std::string> entries;
};

/// Parses into `arguments`, which outlive it.
std::unique_ptr<CLI::App> compile_command(CompileArguments& arguments);
void parse_words(CLI::App& command, std::vector<std::string> words);
/// Words such as "--mode=infer". Throws Error for an option that there is none of, or whose value is not one
/// that it takes. Nothing is said on stderr.
CompileArguments compile_arguments(std::vector<std::string> words);

}  // namespace smelt::cli
