// A rank's link to the hub, and through it to all other ranks: rounds of agreement, broadcasts, gathers and
// barriers, and the liveness of all ranks.
//
// Every rank calls agree, broadcast, gather, barrier and leave in the same order. When a rank is lost,
// reports a failure or makes no progress, all others learn of it within seconds: failure() is raised, and
// waiting functions throw its text as Error (unavailable). The functions may be called by several threads,
// one round at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/ranks/failure_flag.h"
#include "runtime/ranks/launch_variables.h"
#include "runtime/ranks/socket.h"

namespace smelt {

class Hub;
class LinkThread;

class RankLink {
 public:
  /// Waits until all ranks have joined; rank 0 starts the hub. A run of one rank has neither hub nor thread.
  /// Throws Error if the hub's port is taken, the hub does not answer, or a rank does not come. `listener`:
  /// rank 0's, if it has bound one already.
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

  /// Reports the rank's current work for messages: "step 12, all_reduce of gradients". The counter grows with
  /// the work: a rank whose counter does not grow for the run's progress timeout fails the run.
  void progress(std::string_view text, uint64_t counter);
  /// Enclose a call that waits for other ranks, so that messages name it, and a stalled rank is distinguished
  /// from the ranks that wait for it. `what` must stay valid, as a literal does.
  void begin_call(const char* what, uint64_t bytes);
  void end_call();
  /// Reports to all ranks that this one cannot continue; returns when they have the report, or after two
  /// seconds. Has no effect if the run has failed before.
  void report_failure(std::string_view text);
  const FailureFlag& failure() const { return failure_; }
  /// FailureFlag::listen of failure(): called by the link's own thread.
  void on_failure(FailureFlag::Listener listener) { failure_.listen(std::move(listener)); }

  /// The end of the run: waits until all ranks are there.
  void leave();

 private:
  int rank_ = 0, size_ = 1;
  std::vector<std::string> hosts_;
  FailureFlag failure_;
  std::unique_ptr<Hub> hub_;            // rank 0's
  std::unique_ptr<LinkThread> thread_;  // of more ranks than one; it ends before the hub, which waits for it
};

}  // namespace smelt
