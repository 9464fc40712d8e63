#include "compiler/cli/command_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <new>
#include <utility>

#include "compiler/cli/command.h"
#include "compiler/cli/shared/usage.h"
#include "compiler/cli/shared/words.h"
#include "runtime/base/error.h"
#include "runtime/smelt.h"

namespace smelt::cli {
namespace {

constexpr int kFailed = 1, kUsage = 2;

std::vector<std::string> program_words;

int report(int status, std::string_view message) {
  std::fflush(stdout);
  fmt::print(stderr, "error: {}\n", message);
  return status;
}

void add_commands(CLI::App& app) {
  for (auto add :
       {add_compile, add_dump, add_report, add_diff, add_opt, add_run, add_train, add_evaluate, add_generate,
#ifdef SMELT_SERVER
        add_serve, add_watch,
#endif
        add_tokenize, add_export, add_launch, add_verify, add_bench, add_doctor, add_options})
    add(app);
}

/// Makes a file that grows beyond ulimit -f an error of its write, which removes what is incomplete.
void report_large_files() { std::signal(SIGXFSZ, SIG_IGN); }

/// Lets the program continue where messages cannot be written, as on a full disk.
void lose_messages() {
  constexpr auto write = [](void*, const char* text, size_t size) -> ssize_t {
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text, size);
    return static_cast<ssize_t>(size);
  };
  if (std::FILE* file = ::fopencookie(nullptr, "w", {nullptr, write, nullptr, nullptr})) {
    std::setvbuf(file, nullptr, _IOLBF, BUFSIZ);
    stderr = file;
  }
}

/// Writes buffered output and returns the exit status: errors such as a full disk are reported only by the
/// write.
int finish(int status) {
  std::cout.flush();
  errno = 0;
  const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good();
  if (written || errno == EPIPE) return status;
  return report(kFailed,
                fmt::format("standard output: {}", errno == 0 ? "cannot be written" : std::strerror(errno)));
}

int run(CLI::App& app, int argc, char** argv) {
  try {
    app.name(argv[0]);
    app.parse(guarded_words(app, argc, argv));
    return 0;
  } catch (const CLI::RuntimeError& exit) {
    return exit.get_exit_code();
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& usage) {
    return report(kUsage, usage_problem(app, usage));
  }
}

}  // namespace

const std::vector<std::string>& own_program() { return program_words; }

int command_line(int argc, char** argv, std::vector<std::string> program) {
  program_words = std::move(program);
  lose_messages();
  report_large_files();
  CLI::App app{"Smelt compiles a description of a transformer into one plan, and trains and runs it."};
  app.require_subcommand(1);
  app.option_defaults()->multi_option_policy(
      CLI::MultiOptionPolicy::TakeLast);  // a later option overrides an earlier one
  app.set_version_flag("--version", std::string("smelt ") + SMELT_VERSION);
  try {
    add_commands(app);
    guard_options(app);
    return finish(run(app, argc, argv));
  } catch (const Error& error) {
    return report(kFailed, error.what());
  } catch (const std::bad_alloc&) {
    return report(kFailed, "memory does not suffice");
  } catch (const std::exception& error) {
    return report(kFailed, error.what());
  }
}

}  // namespace smelt::cli
