// The ranks of a run as places in a mesh.
#pragma once

#include <utility>

#include "runtime/ranks/rank_groups.h"
#include "runtime/ranks/ranks.h"

namespace smelt {

/// Counter of RankLink::progress: it grows with every call, and begins each step at the same number at all
/// ranks, because ranks are compared by it.
class ProgressCounter {
 public:
  uint64_t next(int64_t step);

 private:
  int64_t step_ = -1;
  uint64_t calls_ = 0;  // in this step
};

class MeshRanks : public RankGroups {
 public:
  /// Makes the communicators of all axes and of all ranks; all ranks call it at once. Throws Error naming
  /// both if the mesh is of another number of ranks. `ranks` outlives it.
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
