// The command line `smelt`: compiler/cli has a file for each command.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <new>
#include <utility>

#include "compiler/cli/command.h"
#include "compiler/cli/usage.h"
#include "runtime/cpu/blas_core.h"
#include "runtime/cpu/thread_waits.h"
#include "runtime/error.h"
#include "runtime/smelt.h"

namespace {

constexpr int kFailed = 1, kUsage = 2;

int report(int status, std::string_view message) {
  std::fflush(stdout);
  fmt::print(stderr, "error: {}\n", message);
  return status;
}

/// Begins again with what OpenBLAS and OpenMP read from the environment as they are loaded; where that cannot
/// be, they keep what they have.
void take_better_settings(char** argv) {
  const std::pair<const char*, std::string> settings[] = {
      {smelt::kBlasCoreVariable, smelt::better_blas_core()},
      {smelt::kSpinVariable, smelt::better_spin_count()}};
  bool better = false;
  for (const auto& [variable, value] : settings)
    if (!value.empty()) better |= ::setenv(variable, value.c_str(), 1) == 0;
  if (better) ::execv("/proc/self/exe", argv);
}

void add_commands(CLI::App& app) {
  using namespace smelt::cli;
  for (auto add :
       {add_compile, add_dump, add_report, add_diff, add_opt, add_run, add_train, add_evaluate, add_generate,
#ifdef SMELT_SERVER
        add_serve,
#endif
        add_tokenize, add_export, add_launch, add_verify, add_bench, add_doctor})
    add(app);
}

int run(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::RuntimeError& exit) {
    return exit.get_exit_code();
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& usage) {
    return report(kUsage, smelt::cli::usage_problem(app, usage));
  }
}

}  // namespace

int main(int argc, char** argv) {
  take_better_settings(argv);
  CLI::App app{"Smelt compiles a description of a transformer into one plan, and trains and runs it."};
  app.require_subcommand(1);
  app.option_defaults()->multi_option_policy(
      CLI::MultiOptionPolicy::TakeLast);  // a later option overrides an earlier one
  app.set_version_flag("--version", std::string("smelt ") + SMELT_VERSION);
  try {
    add_commands(app);
    return run(app, argc, argv);
  } catch (const smelt::Error& error) {
    return report(kFailed, error.what());
  } catch (const std::bad_alloc&) {
    return report(kFailed, "memory does not suffice");
  } catch (const std::exception& error) {
    return report(kFailed, error.what());
  }
}
