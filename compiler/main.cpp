// The command line `smelt`: compiler/cli has a file for each command.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <new>
#include <string>
#include <utility>

#include "compiler/cli/command.h"
#include "compiler/cli/shared/usage.h"
#include "compiler/cli/shared/words.h"
#include "runtime/base/error.h"
#include "runtime/cpu/blas_core.h"
#include "runtime/cpu/threads.h"
#include "runtime/smelt.h"

namespace {

constexpr int kFailed = 1, kUsage = 2;

int report(int status, std::string_view message) {
  std::fflush(stdout);
  fmt::print(stderr, "error: {}\n", message);
  return status;
}

/// Executes the program again with better settings of OpenBLAS and OpenMP, which read their environment when
/// they are loaded. If that fails, the program continues with its present settings.
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
        add_serve, add_watch,
#endif
        add_tokenize, add_export, add_launch, add_verify, add_bench, add_doctor, add_options})
    add(app);
}

/// Ends the process with a message if the limit of a resource is less than `least` bytes.
void require_limit(int resource, rlim_t least, const char* message) {
  rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0 || limit.rlim_cur >= least) return;
  [[maybe_unused]] const ssize_t written =
      ::write(STDERR_FILENO, message, std::char_traits<char>::length(message));
  ::_exit(kFailed);
}

/// Gives the numbers of standard streams that are closed to /dev/null, because the next file that is opened
/// would have them. Output that cannot be written stays an error; messages are lost.
void keep_standard_streams() {
  constexpr int kModes[] = {O_RDONLY, O_RDONLY, O_WRONLY};
  for (int stream = 0; stream <= STDERR_FILENO; ++stream)
    if (::fcntl(stream, F_GETFD) < 0 && ::open("/dev/null", kModes[stream]) < 0) ::_exit(kFailed);
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

/// Checks limits before the libraries are initialized, because OpenBLAS requests memory in an endless loop
/// where a limit refuses it, and a function that overflows its stack cannot report that.
void check_limits(int, char**, char**) {
  keep_standard_streams();
  constexpr rlim_t kLeastStack = rlim_t{128} << 10, kLeastAddresses = rlim_t{512} << 20;
  require_limit(
      RLIMIT_STACK, kLeastStack,
      "error: the stack is limited to less than 128 KiB: raise the limit, as with ulimit -s 8192\n");
  require_limit(
      RLIMIT_AS, kLeastAddresses,
      "error: the address space is limited to less than 512 MiB: raise the limit, as with ulimit -v "
      "unlimited\n");
}

[[gnu::section(".preinit_array"), gnu::used]] void (*const check_limits_first)(int, char**,
                                                                               char**) = check_limits;

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
    app.parse(smelt::cli::guarded_words(app, argc, argv));
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
  lose_messages();
  report_large_files();
  CLI::App app{"Smelt compiles a description of a transformer into one plan, and trains and runs it."};
  app.require_subcommand(1);
  app.option_defaults()->multi_option_policy(
      CLI::MultiOptionPolicy::TakeLast);  // a later option overrides an earlier one
  app.set_version_flag("--version", std::string("smelt ") + SMELT_VERSION);
  try {
    add_commands(app);
    smelt::cli::guard_options(app);
    return finish(run(app, argc, argv));
  } catch (const smelt::Error& error) {
    return report(kFailed, error.what());
  } catch (const std::bad_alloc&) {
    return report(kFailed, "memory does not suffice");
  } catch (const std::exception& error) {
    return report(kFailed, error.what());
  }
}
