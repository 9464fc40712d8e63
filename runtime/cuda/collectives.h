// What GPUs of several ranks do together along the axes of a mesh, on streams of their own, so that a
// collective runs beside the steps behind it until one of them waits for it: gathers and exchanges by copies
// where ranks reach each other's memory (peer_copies.h), all else by NCCL.
//
// Communicators are made together: every rank makes its executor at once. Neither NCCL nor a stream knows
// that a rank is gone, so the run's failure ends the communicators and all waits for words.
#pragma once

#include <memory>
#include <vector>

#include "runtime/cuda/collective_launch.h"
#include "runtime/cuda/nccl_comms.h"
#include "runtime/cuda/peer_copies.h"
#include "runtime/cuda/side_stream.h"
#include "runtime/plan/plan.h"
#include "runtime/ranks/rank_groups.h"

namespace smelt::cuda {

class Collectives {
 public:
  /// For the axes that steps of the plan work along. `ranks` outlives it. Throws Error where there is no
  /// NCCL.
  Collectives(const Device& device, const Plan& plan, RankGroups& ranks);
  Collectives(const Collectives&) = delete;
  Collectives& operator=(const Collectives&) = delete;
  /// What was captured with it has to be gone. All ranks do so at about the same time; where an exception or
  /// a rank's failure is the reason, it waits for no other.
  ~Collectives();

  /// What collectives along the axis write to: where all its ranks reach each other's, copies do gathers and
  /// exchanges. They call it at once, with nothing under way or captured; blocks given before are forgotten.
  void share(size_t axis, std::vector<SharedBlock> blocks);

  /// Begins when `stream` has done all that it was given before.
  void launch(const CollectiveLaunch& launch, Stream stream);
  /// `stream` waits for those that this step, or one before it, needs.
  void join(size_t step, Stream stream);
  void join_all(Stream stream);
  /// A run that was given up half-way waits for nothing.
  void forget();

  /// Throws the Error of another rank, or of this one, that has ended the run.
  void check() const;
  /// For what else ranks do together; ended with these.
  NcclComms& comms() { return *comms_; }

 private:
  /// Copies along an axis, and the number by which the communicators' end calls them.
  struct Copies {
    std::unique_ptr<PeerCopies> ways;
    int at_end = 0;
  };

  void connect(const Device& device, const Plan& plan, RankGroups& ranks);
  void unshare(Copies& copies);
  void launch_copies(const PeerCopies& copies, const CollectiveLaunch& launch, Stream stream);
  /// Rows begin as one.
  void run(const CollectiveLaunch& launch, NcclComm comm, Stream stream) const;
  void run_row(const CollectiveLaunch& launch, NcclComm comm, Stream stream) const;

  RankGroups& ranks_;
  std::shared_ptr<NcclComms> comms_;  // with the listener to the run's failure
  std::vector<NcclComm> along_;       // by axis of the mesh; null where no step works
  std::vector<Copies> copies_;        // by axis
  const Device& device_;
  SideStream side_;                   // of NCCL
  SideStream own_parts_, exchanges_;  // of copies
};

}  // namespace smelt::cuda
