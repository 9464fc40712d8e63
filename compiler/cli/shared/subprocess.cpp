#include "compiler/cli/shared/subprocess.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <sstream>
#include <thread>

#include "runtime/system/environment.h"

extern char** environ;

namespace smelt::cli {
namespace {

bool wait_for(pid_t process, double seconds) {
  const auto begin = std::chrono::steady_clock::now();
  int status = 0;
  while (::waitpid(process, &status, WNOHANG) == 0) {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    if (spent.count() > seconds) {
      ::kill(process, SIGKILL);
      ::waitpid(process, &status, 0);
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

std::string find_program(const std::string& name) {
  std::istringstream directories(read_text(EnvironmentVariable::PATH).value_or(""));
  for (std::string directory; std::getline(directories, directory, ':');) {
    const std::string candidate = (std::filesystem::path(directory) / name).string();
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return {};
}

namespace {

std::vector<char*> argument_pointers(const std::vector<std::string>& arguments) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  return argv;
}

}  // namespace

int run_visibly(const std::vector<std::string>& arguments) {
  const std::vector<char*> argv = argument_pointers(arguments);
  pid_t process = 0;
  if (::posix_spawn(&process, argv[0], nullptr, nullptr, argv.data(), environ) != 0) return -1;
  int status = 0;
  pid_t ended = 0;
  do ended = ::waitpid(process, &status, 0);
  while (ended < 0 && errno == EINTR);
  if (ended < 0) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool run_program(const std::vector<std::string>& arguments, double seconds) {
  const std::vector<char*> argv = argument_pointers(arguments);
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    ::posix_spawn_file_actions_addopen(&files, descriptor, "/dev/null", O_RDWR, 0);
  pid_t process = 0;
  const int failed = ::posix_spawn(&process, argv[0], &files, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&files);
  return failed == 0 && wait_for(process, seconds);
}

}  // namespace smelt::cli
