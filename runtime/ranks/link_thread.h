// The thread of a RankLink: it alone uses the connection to the hub, sends heartbeats and receives the hub's
// messages, while the rank's own threads wait for results or work.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/ranks/connection.h"
#include "runtime/ranks/failure_flag.h"
#include "runtime/ranks/rounds.h"
#include "runtime/ranks/socket.h"

namespace smelt {

/// Rank and hub of a link, for messages, and its timeout.
struct LinkPlace {
  int rank = 0;
  std::string hub_address;
  double heartbeat_timeout = 6;  // seconds
};

class LinkThread {
 public:
  /// Requires: the connection is authenticated (join_hub), and `failure` outlives this object. `failure` is
  /// raised if the hub reports a failure or is lost.
  LinkThread(Connection connection, LinkPlace place, FailureFlag& failure);
  LinkThread(const LinkThread&) = delete;
  LinkThread& operator=(const LinkThread&) = delete;
  /// Sends all queued frames first, within two seconds.
  ~LinkThread();

  /// Waits until all ranks have joined; returns the names of their hosts. This function and the next two
  /// throw if the run fails.
  std::vector<std::string> wait_start();
  std::string round(RoundKind kind, std::string_view what, std::string_view body);
  void leave();

  /// Sets the report and the progress counter that heartbeats contain.
  void progress(std::string_view text, uint64_t counter);
  /// Mark the begin and the end of a collective, which heartbeats name while it runs.
  void begin_call(const char* what, uint64_t bytes);
  void end_call();
  /// Sends the failure to the hub, and waits at most two seconds until the failure flag is raised.
  void report_failure(std::string_view text);

 private:
  void queue(FrameKind kind, std::string body);
  std::string heartbeat() const;
  void run();
  void serve();
  void poll_once();
  void send_queued();
  void take_frame(const Frame& frame);
  void take_result(const Frame& frame);
  void check_hub();
  std::string describe_hub();
  bool is_over();
  void fail(const std::string& text);

  const LinkPlace place_;
  FailureFlag& failure_;
  std::mutex round_mutex_;  // one round at a time

  std::mutex mutex_;  // guards the members from here to end_by_
  std::condition_variable changed_;
  std::vector<std::pair<FrameKind, std::string>> queued_;
  std::optional<RoundResult> result_;
  std::vector<std::string> hosts_;
  std::optional<uint64_t> counter_;
  std::string report_;
  const char* call_ = nullptr;  // in which this rank waits for others
  uint64_t call_bytes_ = 0, calls_ = 0;
  bool has_started_ = false, has_farewell_ = false;
  std::optional<Clock::time_point> end_by_;  // set by the destructor

  Waker waker_;
  Connection connection_;  // used by the thread alone, as are the members below
  Clock::time_point heard_ = Clock::now(), looked_at_ = heard_, heartbeat_at_;
  std::string hub_report_ = "it has reported no step yet";
  std::thread thread_;
};

}  // namespace smelt
