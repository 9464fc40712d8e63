// LaunchedRanks: processes on one host that are the ranks of a run. Starts them, prints their output, and
// ends all of them if one fails.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace smelt::cli {

/// The command that each rank runs.
struct RankCommand {
  std::vector<std::string> words;  // the program and its arguments
  /// One list per rank: variables to set in its environment.
  std::vector<std::vector<std::pair<std::string, std::string>>> variables;
  double grace = 4;  // seconds that the other ranks have to end by themselves after one has failed
};

class LaunchedRanks {
 public:
  /// Starts one rank per list of variables. Rank 0 inherits this process's output, and its input unless that
  /// is a terminal. Output of the other ranks is printed to standard error, each line with a prefix such as
  /// "rank 3: ". Throws Error if the program cannot be started.
  explicit LaunchedRanks(const RankCommand& command);
  LaunchedRanks(const LaunchedRanks&) = delete;
  LaunchedRanks& operator=(const LaunchedRanks&) = delete;
  /// Kills the processes that still run.
  ~LaunchedRanks();

  /// Waits until all ranks have ended. Passes SIGINT, SIGTERM and SIGHUP on to all ranks. After a rank has
  /// failed, the others have `grace` seconds to detect it and end. Then they get SIGTERM. Ranks that still
  /// run 1.75 * `grace` seconds after the failure get SIGKILL.
  ///
  /// If a rank failed, names it on standard error and returns its exit status, which is 128 + n if signal n
  /// ended the rank. If several ranks fail, reports the rank that failed first, with one exception. If a
  /// signal killed another rank within the next second, reports the killed rank, because the rank that failed
  /// first may have lost its connection to the killed rank.
  ///
  /// If no rank failed, returns 0, with one exception. After signal n has been passed on, a rank that ends
  /// with status 128 + n has not failed. If there is such a rank, returns 128 + n.
  int wait();

 private:
  struct Process {
    pid_t id = -1;
    int out = -1, err = -1;          // pipes from its standard output and error; -1: none, or closed
    std::string out_line, err_line;  // unfinished lines
    bool has_ended = false;
  };
  void start(const RankCommand& command, size_t rank);
  void wait_event();
  void take_signals();
  void take_ended();
  void note_end(size_t rank, int status);
  void print(size_t rank, int& pipe, std::string& line);
  void print_rest(size_t rank);
  bool is_answer(int status) const;
  void tell_cause();
  void end_others();
  void send(int signal);
  bool are_all_ended() const;

  std::vector<Process> processes_;
  double grace_;
  int signals_ = -1;  // descriptor that SIGINT, SIGTERM, SIGHUP and SIGCHLD are read from
  struct Cause {
    size_t rank;
    int status;
  };
  std::optional<Cause> cause_;  // the failed rank to report
  /// Whether cause_ has been printed, and whether a signal has been sent to a rank.
  bool is_told_ = false, has_sent_ = false;
  int last_sent_ = 0;  // signal sent to the other ranks after a failure; 0: none
  int passed_on_ = 0;  // signal that the launcher received last and passed on; 0: none
  int stopped_ = 0;    // status of a rank that ended in order because of that signal
  std::optional<std::chrono::steady_clock::time_point> failed_at_;
};

}  // namespace smelt::cli
