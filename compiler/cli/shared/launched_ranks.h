// Processes of one host that are the ranks of a run: starts them, reads their output and ends them together.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace smelt::cli {

struct RankCommand {
  std::vector<std::string> words;  // the program and its arguments
  /// One list per rank: variables to set in its environment.
  std::vector<std::vector<std::pair<std::string, std::string>>> variables;
  double grace = 4;  // seconds that others have to end by themselves after one has failed
};

class LaunchedRanks {
 public:
  /// Starts the ranks. Rank 0 has this process's own output, and its input unless that is a terminal; the
  /// output of the others goes to standard error, each line with a prefix such as "rank 3: ". Throws Error
  /// where the program cannot be started.
  explicit LaunchedRanks(const RankCommand& command);
  LaunchedRanks(const LaunchedRanks&) = delete;
  LaunchedRanks& operator=(const LaunchedRanks&) = delete;
  /// Kills the processes that still run.
  ~LaunchedRanks();

  /// Waits until all ranks have ended. SIGINT, SIGTERM and SIGHUP go to all ranks. When one ends with an
  /// error, the others have `grace` to detect it and end; then they are terminated, and at 1.75 times `grace`
  /// killed. Returns the status of the first rank that failed, or of one that was killed within a second of
  /// it (128 + n for signal n), after a line on standard error that names it. If none failed, returns the
  /// status 128 + n of a rank that ended in order after signal n was passed on, else 0.
  int wait();

 private:
  struct Process {
    pid_t id = -1;
    int out = -1, err = -1;  // pipes from it
    std::string out_line, err_line;
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
  int signals_ = -1;
  struct Cause {
    size_t rank;
    int status;
  };
  std::optional<Cause> cause_;
  bool is_told_ = false, has_sent_ = false;  // has_sent_: a signal, to any
  int last_sent_ = 0;                        // to the others, after one has failed
  int passed_on_ = 0;                        // the signal that came to the launcher last
  int stopped_ = 0;                          // the status of a rank that this ended in order
  std::optional<std::chrono::steady_clock::time_point> failed_at_;
};

}  // namespace smelt::cli
