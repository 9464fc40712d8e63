// The state of this process as one of the ranks of a run: its number, its link to the other ranks, and the
// communicators of its groups.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "runtime/ranks/communicator.h"
#include "runtime/ranks/launch_variables.h"
#include "runtime/ranks/rank_link.h"
#include "runtime/ranks/shared_memory.h"

namespace smelt {

class Ranks {
 public:
  /// Function that makes the communicator of one group. All ranks of the run call it together. Each rank
  /// passes the members of its own group.
  using Connect =
      std::function<std::unique_ptr<Communicator>(RankLink& link, std::span<const int64_t> members)>;

  /// Waits until all ranks have joined (RankLink). If `connect` is empty, the ranks of a group communicate by
  /// shared memory (share_memory). `listener`: the socket at which rank 0 accepts the other ranks, if it is
  /// bound already.
  explicit Ranks(const Launch& launch, Connect connect = {}, Socket listener = {});

  int64_t rank() const { return link_.rank(); }
  int64_t size() const { return link_.size(); }
  RankLink& link() { return link_; }

  /// Returns the communicator of the group with these members, which are in increasing order and include this
  /// rank. The first call for a group creates the communicator. So all ranks must call this function together
  /// and in the same order, for example once for each axis of a mesh.
  Communicator& group(std::span<const int64_t> members);
  /// Returns the communicator of all ranks.
  Communicator& all();

  /// Calls `work`, and then waits until `work` has ended at all ranks. If `work` throws an exception, reports
  /// it to all ranks and throws it again. If another rank has failed before, throws that failure instead.
  void run(const std::function<void()>& work);

 private:
  struct Group {
    std::vector<int64_t> members;
    std::unique_ptr<Communicator> communicator;
  };
  RankLink link_;
  Connect connect_;
  std::vector<Group> groups_;
};

}  // namespace smelt
