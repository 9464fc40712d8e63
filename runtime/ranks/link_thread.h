// The thread of a RankLink. Only this thread uses the connection to the hub, the thread of rank 0's process
// to which all ranks connect (hub.h). It sends heartbeats and receives the hub's messages, while other
// threads of the process compute or wait for results.
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

/// Rank number and hub address for error messages, and the time without a message from the hub after which
/// the hub is considered lost.
struct LinkPlace {
  int rank = 0;
  std::string hub_address;
  double heartbeat_timeout = 6;  // seconds
};

/// The thread, its connection to the hub, and the data that it shares with the threads that call RankLink.
class LinkThread {
 public:
  /// Starts the thread, which raises `failure` if the hub reports a failure or is lost. Requires: the
  /// connection is authenticated (join_hub), and `failure` outlives this object.
  LinkThread(Connection connection, LinkPlace place, FailureFlag& failure);
  LinkThread(const LinkThread&) = delete;
  LinkThread& operator=(const LinkThread&) = delete;
  /// Ends the thread after it has sent all queued frames, or after two seconds.
  ~LinkThread();

  // The next three functions throw Error if the run fails.

  /// Waits until all ranks have joined. Returns the names of their hosts, by rank.
  std::vector<std::string> wait_start();
  /// Takes part in a round, which needs one call of every rank (rounds.h), and returns its result. `what` is
  /// the name of the round. Throws Error if the ranks' calls do not fit together.
  std::string round(RoundKind kind, std::string_view what, std::string_view body);
  /// Tells the hub that this rank has ended its work, and waits until all ranks have.
  void leave();

  /// Sets the report (RankLink::progress) and the progress counter that heartbeats contain.
  void progress(std::string_view text, uint64_t counter);
  /// Mark the begin and the end of a collective or message. Heartbeats name it while it runs. `what` must
  /// stay valid until end_call.
  void begin_call(const char* what, uint64_t bytes);
  void end_call();
  /// Sends the failure to the hub, and waits until `failure` is raised, but at most two seconds. Has no
  /// effect if it is raised already.
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
  const char* call_ = nullptr;  // the collective or message in which this rank is; null: none
  uint64_t call_bytes_ = 0, calls_ = 0;
  bool has_started_ = false, has_farewell_ = false;  // the hub has sent `start`, or `farewell` (message.h)
  std::optional<Clock::time_point> end_by_;          // set by the destructor

  Waker waker_;
  Connection connection_;  // this and the members below are used only by the thread
  /// Times: the last message of the hub, the last check of the hub, and the next heartbeat.
  Clock::time_point heard_ = Clock::now(), looked_at_ = heard_, heartbeat_at_;
  std::string hub_report_ = "it has reported no step yet";
  std::thread thread_;
};

}  // namespace smelt
