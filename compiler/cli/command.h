// The commands of `smelt`, one per file. Each function adds one command to the command line, with its options
// and the function that it runs. Commands report failures as smelt::Error; command_line.cpp prints these and
// chooses the exit status.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace smelt::cli {

void add_compile(CLI::App& app);
void add_dump(CLI::App& app);
void add_report(CLI::App& app);
void add_diff(CLI::App& app);
void add_opt(CLI::App& app);
void add_run(CLI::App& app);
void add_train(CLI::App& app);
void add_evaluate(CLI::App& app);
void add_export(CLI::App& app);
void add_generate(CLI::App& app);
void add_serve(CLI::App& app);  // only in builds with SMELT_SERVER
void add_watch(CLI::App& app);  // only in builds with SMELT_SERVER
void add_tokenize(CLI::App& app);
void add_verify(CLI::App& app);
void add_bench(CLI::App& app);
void add_doctor(CLI::App& app);
void add_launch(CLI::App& app);
void add_options(CLI::App& app);

/// Returns the words that start a process of this command line, as command_line() was told them.
const std::vector<std::string>& own_program();

/// Ends the program with an exit status and no message, for commands that have already printed what failed.
[[noreturn]] inline void exit_with(int status) { throw CLI::RuntimeError(status); }

/// Registers a callback: if the command line names `command`, the parser calls run(*options) after it has
/// parsed all options.
template <typename Options, typename Run>
void on_call(CLI::App* command, std::shared_ptr<Options> options, Run run) {
  command->callback([options, run] { run(*options); });
}

}  // namespace smelt::cli
