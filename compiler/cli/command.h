// The commands of `smelt`, one per file. Each adds itself to the command line, with its options and what it
// runs. A command reports failures as smelt::Error; main.cpp prints them and chooses the exit status.
#pragma once

#include <CLI/CLI.hpp>

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
void add_serve(CLI::App& app);  // of builds with SMELT_SERVER
void add_tokenize(CLI::App& app);
void add_verify(CLI::App& app);
void add_bench(CLI::App& app);
void add_doctor(CLI::App& app);
void add_launch(CLI::App& app);
void add_options(CLI::App& app);

/// Ends the program with a status without a message: a comparison that failed has printed its table.
[[noreturn]] inline void exit_with(int status) { throw CLI::RuntimeError(status); }

/// A command with options of type Options that `run` gets when the command is the one that was called.
template <typename Options, typename Run>
void on_call(CLI::App* command, std::shared_ptr<Options> options, Run run) {
  command->callback([options, run] { run(*options); });
}

}  // namespace smelt::cli
