#include "runtime/ranks/mesh_ranks.h"

#include <utility>

#include "runtime/base/error.h"

namespace smelt {

uint64_t ProgressCounter::next(int64_t step) {
  constexpr int kBitsOfCalls = 24;
  calls_ = step == std::exchange(step_, step) ? calls_ + 1 : 0;
  return (static_cast<uint64_t>(step) << kBitsOfCalls) + calls_;
}

MeshRanks::MeshRanks(Ranks& ranks, Mesh mesh) : ranks_(ranks), mesh_(std::move(mesh)) {
  if (mesh_.ranks() != ranks_.size())
    fail(
        "the mesh {} is of {} ranks, and {} were started: start {} (smelt launch -n {} -- ...), or give "
        "another "
        "--mesh",
        str(mesh_), mesh_.ranks(), ranks_.size(), mesh_.ranks(), mesh_.ranks());
  for (size_t axis = 0; axis < mesh_.axes.size(); ++axis)
    along_.push_back(&ranks_.group(mesh_.group(ranks_.rank(), axis)));
  ranks_.all();
}

void MeshRanks::progress(std::string_view what, int64_t step) {
  ranks_.link().progress(fmt::format("step {}, {}", step, what), counter_.next(step));
}

}  // namespace smelt
