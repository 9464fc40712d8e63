// The program `smelt`: prepares its process, and runs the command line.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "compiler/cli/command_line.h"
#include "runtime/cpu/blas_core.h"
#include "runtime/cpu/threads.h"

namespace {

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

/// Ends the process with a message if the limit of a resource is less than `least` bytes.
void require_limit(int resource, rlim_t least, const char* message) {
  rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0 || limit.rlim_cur >= least) return;
  [[maybe_unused]] const ssize_t written =
      ::write(STDERR_FILENO, message, std::char_traits<char>::length(message));
  ::_exit(EXIT_FAILURE);
}

/// Gives the numbers of standard streams that are closed to /dev/null, because the next file that is opened
/// would have them. Output that cannot be written stays an error; messages are lost.
void keep_standard_streams() {
  constexpr int kModes[] = {O_RDONLY, O_RDONLY, O_WRONLY};
  for (int stream = 0; stream <= STDERR_FILENO; ++stream)
    if (::fcntl(stream, F_GETFD) < 0 && ::open("/dev/null", kModes[stream]) < 0) ::_exit(EXIT_FAILURE);
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

}  // namespace

int main(int argc, char** argv) {
  take_better_settings(argv);
  return smelt::cli::command_line(argc, argv, {"/proc/self/exe"});
}
