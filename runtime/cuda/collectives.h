// Collectives of the GPUs of several ranks along the axes of a mesh. They run on separate streams,
// concurrently with the steps after them, until a step waits for them. There are three implementations:
//   copies   gathers and exchanges (all_to_all) that are large enough, if the ranks can access each other's
//            memory (peer_copies.h)
//   kernel   small sums that the next step reads, on the stream of the steps, if the ranks can access each
//            other's memory (peer_sums.h)
//   NCCL     all other collectives
//
// All ranks create communicators together, so all ranks must create their sessions at the same time. If the
// run fails on any rank, the communicators are ended, so that no rank waits for data of a rank that has
// ended.
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

/// Implementations of all collectives of one plan on one rank.
class Collectives {
 public:
  /// Creates the communicators of the axes along which the plan has collectives. Requires: `device` and
  /// `ranks` outlive this object. Throws Error if there is no NCCL.
  Collectives(const Device& device, const Plan& plan, RankGroups& ranks);
  Collectives(const Collectives&) = delete;
  Collectives& operator=(const Collectives&) = delete;
  /// Ends the communicators. Requires: graphs captured with this object are destroyed. The destructor waits
  /// for the other ranks, so all ranks must call it at about the same time. It does not wait if an exception
  /// is in flight or a rank has failed.
  ~Collectives();

  /// Shares `blocks` with the other ranks along the axis: the memory to which collectives along the axis
  /// write. The blocks replace those of an earlier call. If the ranks can access each other's blocks, gathers
  /// and exchanges use copies from now on. All ranks must call this function together. Requires: no
  /// collective is in progress, and no captured graph contains one.
  void share(size_t axis, std::vector<SharedBlock> blocks);

  /// Enqueues a collective, which begins after all earlier work of `stream`, the stream of the steps. An NCCL
  /// collective for which the next step waits runs on `stream` itself, unless another NCCL collective is in
  /// progress.
  void launch(const CollectiveLaunch& launch, Stream stream);
  /// `computed`: when to divide the matmul that reads or computes the parts of a collective into one matmul
  /// per rank (CollectiveLaunch::read_in_parts, made_in_parts). `never` if the collective is not done by
  /// copies. `own`: the position of this rank along the axis.
  struct Parts {
    PeerCopies::Parts computed = PeerCopies::Parts::never;
    int64_t own = 0;
  };
  Parts parts(const CollectiveLaunch& launch) const;
  /// Enqueues an exchange by copies together with the work that computes its parts. make(rank) enqueues on
  /// `stream` the work that computes the part for rank number `rank`. It is called once per rank, last for
  /// this rank. Each part is sent to its rank as soon as it is computed.
  void launch_made_in_parts(const CollectiveLaunch& launch, Stream stream,
                            const std::function<void(int64_t rank)>& make);
  /// Enqueues on `stream` the work that reads the parts of a collective. read(rank) enqueues the work for the
  /// part from that rank. It is called once per rank, first for this rank. Before read(rank), `stream` waits
  /// for that part if it has not arrived yet.
  void read_in_parts(const CollectiveLaunch& launch, Stream stream,
                     const std::function<void(int64_t rank)>& read);
  /// Makes `stream` wait for the collectives whose CollectiveLaunch::waited_at is `step` or an earlier step.
  void join(size_t step, Stream stream);
  /// Makes `stream` wait for all collectives.
  void join_all(Stream stream);
  /// Discards all collectives that no step has waited for yet, after a run that ended early.
  void forget();

  /// Throws the Error of the rank, this one or another, whose failure has ended the run. Does nothing if
  /// there is none.
  void check() const;
  /// Returns the communicators, for other operations between the ranks. They end with this object.
  NcclComms& comms() { return *comms_; }

 private:
  /// Copies along an axis. `ways` is null if NCCL is used instead. `at_end` is the number of a function
  /// (NcclComms::at_end). If the run fails, that function ends the waits of the copies.
  struct Copies {
    std::unique_ptr<PeerCopies> ways;
    int at_end = 0;
  };

  /// Small sums along an axis. `ways` is null if NCCL is used instead. `at_end`: as in Copies.
  struct Sums {
    std::unique_ptr<PeerSums> ways;
    int at_end = 0;
  };

  void connect(const Device& device, const Plan& plan, RankGroups& ranks);
  void connect_sums(size_t axis, Communicator& group);
  /// Ends the copies along an axis, after waiting for those in progress.
  void unshare(Copies& copies);
  /// Enqueues the copy of this rank's own part, unless the part is in place already.
  void launch_own(const PeerCopies& copies, const CollectiveLaunch& launch, size_t waited_at, Stream stream);
  /// Returns the event that is recorded when the part from `rank`, which step `step` reads, has arrived.
  Event arrival(size_t step, int64_t rank);
  void launch_copies(const PeerCopies& copies, const CollectiveLaunch& launch, Stream stream);
  /// Enqueues all operations of the step (CollectiveStep::rows) as one NCCL group.
  void run(const CollectiveLaunch& launch, NcclComm comm, Stream stream) const;
  void run_row(const CollectiveLaunch& launch, NcclComm comm, Stream stream) const;

  RankGroups& ranks_;
  std::shared_ptr<NcclComms> comms_;  // shared with the function that is called if the run fails
  std::vector<NcclComm> along_;       // per axis of the mesh; null if no step has a collective along it
  std::vector<Copies> copies_;        // per axis
  std::vector<Sums> sums_;            // per axis
  const Device& device_;
  SideStream side_;                   // for NCCL
  SideStream own_parts_, exchanges_;  // for copies: of this rank's own parts, and between ranks
  EventOwner made_;                   // recorded when a part of an exchange is computed
  /// Events of the arrival of parts that a step reads one by one, by step and rank.
  std::map<size_t, std::vector<EventOwner>> arrivals_;
  std::set<size_t> arriving_;  // steps for which such parts are in progress
};

}  // namespace smelt::cuda
