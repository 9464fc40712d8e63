// Collectives of the GPUs of several ranks along the axes of a mesh. They run on their own streams,
// concurrently with the steps after them until one of them waits. Gathers and exchanges use copies if ranks
// reach each other's memory (peer_copies.h), and all other collectives use NCCL. If ranks reach each other's
// memory, small sums that the next step reads are a kernel on the stream of the steps (peer_sums.h).
//
// Communicators are created together, so every rank creates its executor at the same time. Neither NCCL nor a
// stream detects that a rank is gone, so the run's failure ends the communicators and all waits for words.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "runtime/cuda/collective_launch.h"
#include "runtime/cuda/nccl_comms.h"
#include "runtime/cuda/peer_copies.h"
#include "runtime/cuda/peer_sums.h"
#include "runtime/cuda/side_stream.h"
#include "runtime/plan/plan.h"
#include "runtime/ranks/rank_groups.h"

namespace smelt::cuda {

class Collectives {
 public:
  /// Creates the communicators of the axes that the plan's steps use. Requires: `ranks` outlives this object.
  /// Throws Error if there is no NCCL.
  Collectives(const Device& device, const Plan& plan, RankGroups& ranks);
  Collectives(const Collectives&) = delete;
  Collectives& operator=(const Collectives&) = delete;
  /// Requires: graphs captured with this object are destroyed. All ranks call it at about the same time;
  /// after an exception or a rank's failure it waits for no other rank.
  ~Collectives();

  /// Shares the blocks that collectives along the axis write to. If all ranks of the axis reach each other's
  /// blocks, gathers and exchanges use copies. All ranks call it together, with no collective in progress or
  /// captured; earlier blocks are forgotten.
  void share(size_t axis, std::vector<SharedBlock> blocks);

  /// Begins when `stream` has done all that it was given before. A collective that the next step waits for
  /// runs on `stream` itself, so that a graph has no branch there, because nothing could run concurrently.
  void launch(const CollectiveLaunch& launch, Stream stream);
  /// Products that may be computed in parts, and this rank's place along the axis. Where NCCL does a
  /// collective, no product is computed in parts.
  struct Parts {
    PeerCopies::Parts computed = PeerCopies::Parts::never;
    int64_t own = 0;
  };
  Parts parts(const CollectiveLaunch& launch) const;
  /// Begins an exchange by copies whose parts `make` gives to `stream`, those of this rank last: each part is
  /// sent when it is made.
  void launch_made_in_parts(const CollectiveLaunch& launch, Stream stream,
                            const std::function<void(int64_t rank)>& make);
  /// Gives `stream` work on each part that the step waits for, this rank's first, each after a wait for that
  /// part if it is in progress (CollectiveLaunch::read_in_parts).
  void read_in_parts(const CollectiveLaunch& launch, Stream stream,
                     const std::function<void(int64_t rank)>& read);
  /// `stream` waits for those that this step, or one before it, needs.
  void join(size_t step, Stream stream);
  void join_all(Stream stream);
  /// A run that was given up half-way waits for nothing.
  void forget();

  /// Throws the Error of another rank, or of this one, that has ended the run.
  void check() const;
  /// Returns the communicators for other operations of the ranks; they end with this object.
  NcclComms& comms() { return *comms_; }

 private:
  /// Copies along an axis, and the number by which the communicators' end calls them.
  struct Copies {
    std::unique_ptr<PeerCopies> ways;
    int at_end = 0;
  };

  /// Small sums along an axis; null if NCCL does them.
  struct Sums {
    std::unique_ptr<PeerSums> ways;
    int at_end = 0;
  };

  void connect(const Device& device, const Plan& plan, RankGroups& ranks);
  void connect_sums(size_t axis, Communicator& group);
  void unshare(Copies& copies);
  void launch_own(const PeerCopies& copies, const CollectiveLaunch& launch, size_t waited_at, Stream stream);
  Event arrival(size_t step, int64_t rank);
  void launch_copies(const PeerCopies& copies, const CollectiveLaunch& launch, Stream stream);
  /// Rows begin as one.
  void run(const CollectiveLaunch& launch, NcclComm comm, Stream stream) const;
  void run_row(const CollectiveLaunch& launch, NcclComm comm, Stream stream) const;

  RankGroups& ranks_;
  std::shared_ptr<NcclComms> comms_;  // with the listener to the run's failure
  std::vector<NcclComm> along_;       // by axis of the mesh; null where no step works
  std::vector<Copies> copies_;        // by axis
  std::vector<Sums> sums_;            // by axis
  const Device& device_;
  SideStream side_;                   // of NCCL
  SideStream own_parts_, exchanges_;  // of copies
  EventOwner made_;                   // a part of an exchange
  /// Arrivals of parts that a step reads one by one, by step and rank; and the steps whose parts are in
  /// progress.
  std::map<size_t, std::vector<EventOwner>> arrivals_;
  std::set<size_t> arriving_;
};

}  // namespace smelt::cuda
