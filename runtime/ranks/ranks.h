// One process among the ranks of a run: its rank, its link to the others, and the communicator of each of its
// groups.
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
  /// Makes the communicator of one group: all ranks call it at once, each with its own group's members.
  using Connect =
      std::function<std::unique_ptr<Communicator>(RankLink& link, std::span<const int64_t> members)>;

  /// Waits until all ranks have joined (RankLink). Without `connect`, groups share memory (share_memory).
  explicit Ranks(const Launch& launch, Connect connect = {}, Socket listener = {});

  int64_t rank() const { return link_.rank(); }
  int64_t size() const { return link_.size(); }
  RankLink& link() { return link_; }

  /// Returns the communicator of this rank's group with these members, in increasing order and including
  /// itself; it is created at its first use. All ranks must request their groups in the same order, such as
  /// axis by axis of a mesh.
  Communicator& group(std::span<const int64_t> members);
  /// Returns the communicator of all ranks.
  Communicator& all();

  /// Does the work of this rank and waits for the end of all others'. An exception of the work is reported to
  /// all ranks and rethrown; if another rank failed first, that failure is thrown.
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
