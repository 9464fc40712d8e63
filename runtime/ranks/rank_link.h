// A rank's link to the hub, and through it to all other ranks: what they agree on, share and wait for, and
// whether all of them still live.
//
// Every rank calls agree, broadcast, gather, barrier and leave in the same order. When a rank is lost,
// reports a failure or stands still, all others are told within seconds: failure() is raised, and what waits
// throws its text as Error (unavailable). The functions may be called by several threads, one round at a
// time.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/ranks/connection.h"
#include "runtime/ranks/failure_flag.h"
#include "runtime/ranks/handshake.h"
#include "runtime/ranks/launch_variables.h"
#include "runtime/ranks/rounds.h"
#include "runtime/ranks/socket.h"

namespace smelt {

class Hub;

class RankLink {
 public:
  /// Waits until all ranks have joined; rank 0 starts the hub. A run of one rank has neither hub nor thread.
  /// Throws Error where the hub's port is taken, nobody answers, or a rank does not come.
  /// `listener`: rank 0's, where it has bound one already.
  explicit RankLink(const Launch& launch, Socket listener = {});
  RankLink(const RankLink&) = delete;
  RankLink& operator=(const RankLink&) = delete;
  /// Without leave() before, the others take this rank as lost.
  ~RankLink();

  int rank() const { return rank_; }
  int size() const { return size_; }
  /// Names of all ranks' hosts.
  const std::vector<std::string>& hosts() const { return hosts_; }

  /// Names and values that must be the same at all ranks; else all throw an Error with the names, and the
  /// first two ranks that differ.
  using Values = std::vector<std::pair<std::string, std::string>>;
  void agree(std::string_view what, const Values& values);
  /// Rank 0's bytes, at all ranks.
  std::string broadcast(std::string_view what, std::string_view bytes);
  /// Every rank's bytes, at all ranks.
  std::vector<std::string> gather(std::string_view what, std::string_view bytes);
  void barrier(std::string_view what);

  /// What this rank is at, for messages: "step 12, all_reduce of gradients". The counter grows with the work:
  /// a rank whose counter stands still for the run's progress timeout fails the run.
  void progress(std::string_view text, uint64_t counter);
  /// Tells all ranks that this one cannot go on; returns when they have been told, or after two seconds. Of
  /// no effect where the run has failed before.
  void report_failure(std::string_view text);
  const FailureFlag& failure() const { return failure_; }
  /// FailureFlag::listen of failure(): called by the link's own thread.
  void on_failure(FailureFlag::Listener listener) { failure_.listen(std::move(listener)); }

  /// The end of the run: waits until all ranks are there.
  void leave();

 private:
  std::string round(RoundKind kind, std::string_view what, std::string body);
  std::string wait_result(std::unique_lock<std::mutex>& lock);
  void queue(FrameKind kind, std::string body);
  void start(const Launch& launch, Socket listener);
  void wait_start();
  void end_thread();

  void run();
  void serve();
  void poll_once();
  void take_frame(const Frame& frame);
  void take_result(const Frame& frame);
  void send_queued();
  void check_hub();
  void fail(const std::string& text);

  int rank_ = 0, size_ = 1;
  double heartbeat_timeout_ = 0;
  std::string hub_address_;
  std::vector<std::string> hosts_;
  FailureFlag failure_;

  std::mutex round_mutex_;    // one round at a time
  mutable std::mutex mutex_;  // of all that follows, up to the thread's own
  std::condition_variable changed_;
  std::vector<std::pair<FrameKind, std::string>> queued_;
  std::optional<RoundResult> result_;
  std::optional<uint64_t> counter_;
  std::string report_;
  bool has_started_ = false, has_farewell_ = false, is_ending_ = false;

  Waker waker_;
  std::unique_ptr<Hub> hub_;
  std::optional<Connection> connection_;  // the thread's own, as all that follows
  Clock::time_point heard_, heartbeat_at_, looked_at_;
  std::string hub_report_ = "it has reported no step yet";
  std::thread thread_;
};

}  // namespace smelt
