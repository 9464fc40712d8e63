// Link of a rank to the hub (hub.h), and by it to all other ranks. It has operations in which all ranks take
// part (agree, broadcast, gather, barrier), and detects ranks that are lost.
//
// Every rank calls agree, broadcast, gather, barrier and leave in the same order. The hub tells all ranks
// when a rank is lost, reports a failure, or makes no progress for the progress timeout. A rank is lost if
// its connection ends, or if it sends nothing for the heartbeat timeout. In all three cases failure() is
// raised at all ranks, and functions that wait throw its text as Error (unavailable). Several threads may
// call all functions. If several call agree, broadcast, gather or barrier, the calls run one after another.
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
  /// Connects to the hub, which rank 0 starts, and waits until all ranks have joined. A run of one rank has
  /// neither a hub nor a thread. Throws Error if the hub's port is in use, the hub does not answer, or a rank
  /// does not join in time. `listener` is the hub's socket if rank 0 has bound one already.
  explicit RankLink(const Launch& launch, Socket listener = {});
  RankLink(const RankLink&) = delete;
  RankLink& operator=(const RankLink&) = delete;
  /// Ends the connection. If leave() was not called before, the hub reports this rank as lost.
  ~RankLink();

  int rank() const { return rank_; }
  int size() const { return size_; }
  /// Returns the name of each rank's host, by rank.
  const std::vector<std::string>& hosts() const { return hosts_; }

  // `what` names the operation in messages, and must be the same at all ranks.

  /// Checks that all ranks have the same names and values. If they do not, all ranks throw Error, which names
  /// the first rank that differs from rank 0, and the values that differ.
  using Values = std::vector<std::pair<std::string, std::string>>;
  void agree(std::string_view what, const Values& values);
  /// Returns rank 0's bytes at all ranks. `bytes` is not read at the other ranks.
  std::string broadcast(std::string_view what, std::string_view bytes);
  /// Returns the bytes of every rank, by rank, at all ranks.
  std::vector<std::string> gather(std::string_view what, std::string_view bytes);
  /// Returns when all ranks have called it.
  void barrier(std::string_view what);

  /// Reports the rank's current work for messages, such as "step 12, all_reduce of gradients". `counter`
  /// increases with the work. After this call, three events count as progress of the rank: its counter
  /// changes, it calls begin_call, or an operation of all ranks ends.
  void progress(std::string_view text, uint64_t counter);
  /// Mark the begin and the end of a call that waits for other ranks. Messages name the call, and the hub
  /// distinguishes a stalled rank from the ranks that wait for it. `what` must stay valid until end_call.
  void begin_call(const char* what, uint64_t bytes);
  void end_call();
  /// Reports to all ranks that this rank cannot continue. Returns when the hub has told all ranks, or after
  /// two seconds. Has no effect if the run has already failed.
  void report_failure(std::string_view text);
  const FailureFlag& failure() const { return failure_; }
  /// Calls FailureFlag::listen of failure(). The listener is called by the link's thread, or by this function
  /// if the run has already failed.
  void on_failure(FailureFlag::Listener listener) { failure_.listen(std::move(listener)); }

  /// Ends this rank's part of the run: waits until all ranks have called it.
  void leave();

 private:
  int rank_ = 0, size_ = 1;
  std::vector<std::string> hosts_;
  FailureFlag failure_;
  std::unique_ptr<Hub> hub_;  // null at all ranks but rank 0
  /// Null if there is one rank. Declared after hub_, whose destructor waits until this connection has ended.
  std::unique_ptr<LinkThread> thread_;
};

}  // namespace smelt
