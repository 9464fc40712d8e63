#include "compiler/cli/shared/launched_ranks.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <map>

#include "runtime/base/error.h"

extern char** environ;

namespace smelt::cli {
namespace {

using std::chrono::steady_clock;

constexpr double kSecondsToTell = 1;    // in which the cause may show of what was seen first
constexpr double kGracesToKill = 1.75;  // after a rank failed: first the others are told to end, then killed
constexpr size_t kLongestLine = 1 << 16;
constexpr size_t kPiece = 4096;
constexpr int kReadsOfAPipe = 64;
constexpr std::array<int, 4> kSignals = {SIGINT, SIGTERM, SIGHUP, SIGCHLD};

sigset_t launcher_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kSignals) sigaddset(&set, signal);
  return set;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

/// This process's environment with some variables set anew.
std::vector<std::string> environment_with(const std::vector<std::pair<std::string, std::string>>& variables) {
  std::map<std::string, std::string> all;
  for (char** entry = environ; *entry; ++entry) {
    const std::string text = *entry;
    const size_t equals = text.find('=');
    if (equals != std::string::npos) all[text.substr(0, equals)] = text.substr(equals + 1);
  }
  for (const auto& [name, value] : variables) all[name] = value;
  std::vector<std::string> entries;
  for (const auto& [name, value] : all) entries.push_back(name + "=" + value);
  return entries;
}

struct Pipe {
  int read = -1, write = -1;
  explicit Pipe(bool is_wanted = true) {
    if (!is_wanted) return;
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) fail_with(Status::io, "no pipe for a rank: {}", std::strerror(errno));
    read = ends[0], write = ends[1];
  }
  static void close(int& end) {
    if (end >= 0) ::close(std::exchange(end, -1));
  }
};

struct Streams {
  int in = -1, out = -1, err = -1;  // -1: as this process has it
};

/// Between fork and exec: calls that any moment of the program allows, and no others.
[[noreturn]] void become(char** words, char** environment, const Streams& streams, pid_t launcher,
                         int report) {
  ::setpgid(0, 0);                     // the terminal's Ctrl-C comes from the launcher, once
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);  // a launcher that was killed leaves no ranks behind
  const sigset_t all = launcher_signals();
  ::sigprocmask(SIG_UNBLOCK, &all, nullptr);
  if (streams.in >= 0) ::dup2(streams.in, STDIN_FILENO);
  if (streams.out >= 0) ::dup2(streams.out, STDOUT_FILENO);
  if (streams.err >= 0) ::dup2(streams.err, STDERR_FILENO);
  if (::getppid() == launcher) ::execvpe(words[0], words, environment);
  const int error = errno;
  [[maybe_unused]] const ssize_t written = ::write(report, &error, sizeof error);
  ::_exit(127);
}

/// Returns the error that exec reported; 0 where it succeeded.
int exec_error(int report) {
  int error = 0;
  ssize_t n;
  do n = ::read(report, &error, sizeof error);
  while (n < 0 && errno == EINTR);
  return n == sizeof error ? error : 0;
}

int code_of(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

std::string story_of(int status) {
  if (!WIFSIGNALED(status)) return fmt::format("ended with status {}", WEXITSTATUS(status));
  return fmt::format("was ended by signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
}

bool is_readable(int pipe) {
  pollfd one = {pipe, POLLIN, 0};
  return pipe >= 0 && ::poll(&one, 1, 0) > 0;
}

void print_line(size_t rank, std::string_view line) { fmt::print(stderr, "rank {}: {}\n", rank, line); }

}  // namespace

LaunchedRanks::LaunchedRanks(const RankCommand& command)
    : processes_(command.variables.size()), grace_(command.grace) {
  ::signal(SIGCHLD, SIG_DFL);  // if it is ignored, the status of an ended process is lost
  const sigset_t set = launcher_signals();
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  signals_ = ::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  if (signals_ < 0) fail_with(Status::io, "no descriptor for signals: {}", std::strerror(errno));
  try {
    for (size_t rank = 0; rank < processes_.size(); ++rank) start(command, rank);
  } catch (...) {
    send(SIGKILL);
    throw;
  }
}

LaunchedRanks::~LaunchedRanks() {
  send(SIGKILL);
  for (Process& process : processes_) {
    if (!process.has_ended && process.id > 0) ::waitpid(process.id, nullptr, 0);
    Pipe::close(process.out);
    Pipe::close(process.err);
  }
  Pipe::close(signals_);
  const sigset_t set = launcher_signals();
  ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
}

void LaunchedRanks::start(const RankCommand& command, size_t rank) {
  Process& process = processes_[rank];
  Pipe out(rank > 0), err(rank > 0), report;
  int nothing = rank > 0 || ::isatty(STDIN_FILENO) ? ::open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;
  const std::vector<std::string> variables = environment_with(command.variables[rank]);
  std::vector<char*> words = pointers(command.words), environment = pointers(variables);
  const pid_t launcher = ::getpid();
  std::fflush(nullptr);
  process.id = ::fork();
  if (process.id == 0)
    become(words.data(), environment.data(), {nothing, out.write, err.write}, launcher, report.write);
  const int error = process.id < 0 ? errno : 0;
  for (int* end : {&out.write, &err.write, &report.write, &nothing}) Pipe::close(*end);
  process.out = out.read, process.err = err.read;
  const int failure = error != 0 ? error : exec_error(report.read);
  Pipe::close(report.read);
  if (failure == 0) return;
  fail_with(Status::io, "rank {}: cannot start '{}': {}", rank, command.words[0], std::strerror(failure));
}

int LaunchedRanks::wait() {
  while (!are_all_ended()) {
    wait_event();
    take_signals();
    take_ended();
    end_others();
  }
  tell_cause();
  return cause_ ? code_of(cause_->status) : stopped_;
}

bool LaunchedRanks::are_all_ended() const {
  return std::ranges::all_of(processes_, [](const Process& process) { return process.has_ended; });
}

void LaunchedRanks::wait_event() {
  std::vector<pollfd> polled = {{signals_, POLLIN, 0}};
  for (const Process& process : processes_)
    for (const int pipe : {process.out, process.err})
      if (pipe >= 0) polled.push_back({pipe, POLLIN, 0});
  ::poll(polled.data(), polled.size(), 100);
  for (size_t rank = 0; rank < processes_.size(); ++rank) {
    Process& process = processes_[rank];
    for (const pollfd& one : polled) {
      if (one.revents == 0 || one.fd < 0) continue;
      if (one.fd == process.out)
        print(rank, process.out, process.out_line);
      else if (one.fd == process.err)
        print(rank, process.err, process.err_line);
    }
  }
}

/// Prints the available output, line by line; at the end of the pipe also an unfinished line.
void LaunchedRanks::print(size_t rank, int& pipe, std::string& line) {
  std::array<char, kPiece> piece;
  const ssize_t n = ::read(pipe, piece.data(), piece.size());
  if (n < 0 && errno == EINTR) return;
  if (n > 0) line.append(piece.data(), static_cast<size_t>(n));
  size_t begin = 0;
  for (size_t end; (end = line.find('\n', begin)) != std::string::npos; begin = end + 1)
    print_line(rank, std::string_view(line).substr(begin, end - begin));
  line.erase(0, begin);
  if (n > 0 && line.size() < kLongestLine) return;
  if (!line.empty()) print_line(rank, line);
  line.clear();
  if (n <= 0) Pipe::close(pipe);
}

void LaunchedRanks::take_signals() {
  signalfd_siginfo info;
  while (::read(signals_, &info, sizeof info) == sizeof info)
    if (info.ssi_signo != SIGCHLD) send(passed_on_ = static_cast<int>(info.ssi_signo));
}

void LaunchedRanks::take_ended() {
  for (size_t rank = 0; rank < processes_.size(); ++rank) {
    int status = 0;
    Process& process = processes_[rank];
    if (process.has_ended || ::waitpid(process.id, &status, WNOHANG) != process.id) continue;
    process.has_ended = true;
    print_rest(rank);
    note_end(rank, status);
  }
}

/// Prints the last output of a process before its status. Reads no more than a pipe holds, because processes
/// that it started may continue to write.
void LaunchedRanks::print_rest(size_t rank) {
  Process& process = processes_[rank];
  for (int i = 0; i < kReadsOfAPipe && is_readable(process.out); ++i)
    print(rank, process.out, process.out_line);
  for (int i = 0; i < kReadsOfAPipe && is_readable(process.err); ++i)
    print(rank, process.err, process.err_line);
}

/// A killed process closes its connections some time before it has ended: ranks that heard of that may end
/// before it. So one that was killed is the cause, where it ends soon after the first.
void LaunchedRanks::note_end(size_t rank, int status) {
  if (code_of(status) == 0) return;
  if (is_answer(status)) stopped_ = code_of(status);
  if (is_answer(status)) return;
  if (!failed_at_) failed_at_ = steady_clock::now();
  const bool is_killed = WIFSIGNALED(status) && !has_sent_;
  if (!cause_ || (!is_told_ && is_killed && !WIFSIGNALED(cause_->status))) cause_ = {rank, status};
}

/// Returns whether a status is that of a rank that ended in order because of a signal, which is no failure.
bool LaunchedRanks::is_answer(int status) const {
  return passed_on_ != 0 && WIFEXITED(status) && WEXITSTATUS(status) == 128 + passed_on_;
}

void LaunchedRanks::tell_cause() {
  if (!cause_ || std::exchange(is_told_, true)) return;
  fmt::print(stderr, "error: rank {} of {} {}\n", cause_->rank, processes_.size(), story_of(cause_->status));
}

void LaunchedRanks::end_others() {
  if (!failed_at_) return;
  const double spent = std::chrono::duration<double>(steady_clock::now() - *failed_at_).count();
  if (spent > std::min(kSecondsToTell, grace_)) tell_cause();
  const int signal = spent > kGracesToKill * grace_ ? SIGKILL : spent > grace_ ? SIGTERM : 0;
  if (signal != std::exchange(last_sent_, signal)) send(signal);
}

/// Sends a signal to a rank and the processes that it has started.
void LaunchedRanks::send(int signal) {
  has_sent_ = true;
  for (const Process& process : processes_)
    if (process.id > 0 && !process.has_ended && ::kill(-process.id, signal) != 0) ::kill(process.id, signal);
}

}  // namespace smelt::cli
