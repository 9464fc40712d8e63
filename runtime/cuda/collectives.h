// What GPUs of several ranks do together: NCCL's communicators along the axes of a mesh, and a stream of
// their own, so that a collective runs beside the steps behind it until one of them waits for it.
//
// Communicators are made together: every rank makes its executor at once. NCCL cannot know that a rank is
// gone, so the run's failure ends the communicators, and with them the kernels that wait.
#pragma once

#include <memory>
#include <vector>

#include "runtime/cuda/nccl_comms.h"
#include "runtime/cuda/side_stream.h"
#include "runtime/plan/plan.h"
#include "runtime/ranks/rank_groups.h"

namespace smelt::cuda {

/// A collective step with its sizes evaluated.
struct CollectiveLaunch {
  CollectiveKind kind = CollectiveKind::all_reduce;
  size_t axis = 0;  // of the mesh
  int64_t ranks = 1;
  DevicePointer from = 0, to = 0;
  int64_t elements = 0;  // of a part
  DType dtype = DType::f32;
  CollectiveSum sum = CollectiveSum::add;
  size_t waited_at = 0;                              // a step of the entry, or their number
  int64_t rows = 1, from_stride = 0, to_stride = 0;  // elements

  int64_t part_bytes() const { return elements * size_of(dtype); }
  /// One of its rows by itself.
  CollectiveLaunch row(int64_t number) const;
};

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

  /// Begins when `stream` has done all that it was given before.
  void launch(const CollectiveLaunch& launch, Stream stream);
  /// `stream` waits for those that this step, or one before it, needs.
  void join(size_t step, Stream stream);
  void join_all(Stream stream);
  /// A run that was given up half-way waits for nothing.
  void forget() { side_.forget(); }

  /// Throws the Error of another rank, or of this one, that has ended the run.
  void check() const;
  /// For what else ranks do together; ended with these.
  NcclComms& comms() { return *comms_; }

 private:
  void connect(const Device& device, const Plan& plan, RankGroups& ranks);
  /// Rows begin as one.
  void run(const CollectiveLaunch& launch, NcclComm comm, Stream stream) const;
  void run_row(const CollectiveLaunch& launch, NcclComm comm, Stream stream) const;

  RankGroups& ranks_;
  std::shared_ptr<NcclComms> comms_;  // with the listener to the run's failure
  std::vector<NcclComm> along_;       // by axis of the mesh; null where no step works
  const Device& device_;
  SideStream side_;
};

}  // namespace smelt::cuda
