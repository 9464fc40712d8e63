// RankGroups of a run whose ranks are arranged in a mesh (mesh.h).
#pragma once

#include <utility>

#include "runtime/ranks/rank_groups.h"
#include "runtime/ranks/ranks.h"

namespace smelt {

/// Counter for RankLink::progress. It increases with every call of next(). The first number of each step is
/// the same at all ranks, so that the hub can compare the counters of ranks.
class ProgressCounter {
 public:
  uint64_t next(int64_t step);

 private:
  int64_t step_ = -1;
  uint64_t calls_ = 0;  // number of earlier calls in this step
};

class MeshRanks : public RankGroups {
 public:
  /// Makes a communicator for each axis of the mesh and one for all ranks. All ranks of the run call it
  /// together. Throws Error naming both numbers if the mesh does not have as many ranks as the run. Requires:
  /// `ranks` outlives this object.
  MeshRanks(Ranks& ranks, Mesh mesh);

  const Mesh& mesh() const override { return mesh_; }
  int64_t rank() const override { return ranks_.rank(); }
  Communicator& along(size_t axis) override { return *along_.at(axis); }
  Communicator& everyone() override { return ranks_.all(); }
  void progress(std::string_view what, int64_t step) override;
  void report_failure(std::string_view text) override { ranks_.link().report_failure(text); }
  void on_failure(std::function<void(const std::string& text)> listener) override {
    ranks_.link().on_failure(std::move(listener));
  }

 private:
  Ranks& ranks_;
  Mesh mesh_;
  std::vector<Communicator*> along_;
  ProgressCounter counter_;
};

}  // namespace smelt
