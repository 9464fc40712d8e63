// Functions that run the ranks of a test, as threads or as processes that a test may kill.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/ranks/launch_variables.h"
#include "runtime/ranks/socket.h"

namespace smelt {

inline Launch launch_of_rank(int rank, int size, int port) {
  Launch launch;
  launch.rank = launch.local_rank = rank;
  launch.size = launch.local_size = size;
  launch.master_port = port;
  launch.secret = "of the test";
  launch.join_timeout = 20;
  return launch;
}

/// Function that a rank executes. `launch` has its rank and the number of ranks. `listener` is, for rank 0, a
/// socket that listens at a free port, so that concurrent tests use different ports; for other ranks, it is
/// empty.
using RankBody = std::function<void(const Launch& launch, Socket listener)>;

/// The way in which a rank has ended.
struct RankEnd {
  int status = 0;    // 0: the function returned; 1: it threw; 128 + n: ended by signal n
  std::string text;  // message of the exception
};

/// Runs every rank as a thread. The result has one element per rank.
inline std::vector<RankEnd> run_rank_threads(int size, const RankBody& body) {
  Socket listener = listen_at("127.0.0.1", 0);
  const int port = port_of(listener);
  std::vector<RankEnd> ends(static_cast<size_t>(size));
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank, own = rank == 0 ? std::move(listener) : Socket()]() mutable {
      RankEnd& end = ends[static_cast<size_t>(rank)];
      try {
        body(launch_of_rank(rank, size, port), std::move(own));
      } catch (const std::exception& error) {
        end = {1, error.what()};
      }
    });
  threads.clear();
  return ends;
}

namespace run_ranks_detail {

constexpr unsigned kSecondsOfAProcess = 60;  // after which SIGALRM ends a process that hangs

/// Executes a rank in its process, writes the message of an exception to the descriptor `report`, and exits.
[[noreturn]] inline void be_rank(const RankBody& body, const Launch& launch, Socket listener, int report) {
  ::alarm(kSecondsOfAProcess);
  int status = 0;
  try {
    body(launch, std::move(listener));
  } catch (const std::exception& error) {
    const std::string text = error.what();
    [[maybe_unused]] const ssize_t written = ::write(report, text.data(), text.size());
    status = 1;
  }
  ::_exit(status);
}

inline std::string read_all(int descriptor) {
  std::string text;
  char piece[512];
  for (ssize_t n; (n = ::read(descriptor, piece, sizeof piece)) > 0;)
    text.append(piece, static_cast<size_t>(n));
  ::close(descriptor);
  return text;
}

}  // namespace run_ranks_detail

/// Runs every rank as a process. The result has one element per rank. While the processes run, `meanwhile` is
/// called with their ids.
inline std::vector<RankEnd> run_rank_processes(
    int size, const RankBody& body, const std::function<void(const std::vector<pid_t>&)>& meanwhile = {}) {
  Socket listener = listen_at("127.0.0.1", 0);
  const int port = port_of(listener);
  std::vector<pid_t> processes;
  std::vector<int> reports;
  for (int rank = 0; rank < size; ++rank) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    const pid_t process = ::fork();
    if (process == 0) {
      if (rank > 0) listener.close();
      run_ranks_detail::be_rank(body, launch_of_rank(rank, size, port), std::move(listener), ends[1]);
    }
    ::close(ends[1]);
    processes.push_back(process), reports.push_back(ends[0]);
  }
  listener.close();
  if (meanwhile) meanwhile(processes);
  std::vector<RankEnd> results;
  for (size_t rank = 0; rank < processes.size(); ++rank) {
    const std::string text = run_ranks_detail::read_all(reports[rank]);
    int status = 0;
    ::waitpid(processes[rank], &status, 0);
    results.push_back({WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status), text});
  }
  return results;
}

inline void expect_all_good(const std::vector<RankEnd>& ends) {
  for (size_t rank = 0; rank < ends.size(); ++rank)
    EXPECT_EQ(ends[rank].status, 0) << "rank " << rank << ": " << ends[rank].text;
}

}  // namespace smelt
