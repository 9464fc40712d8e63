// The position of this process in a mesh of ranks, and its communicators, for sessions that run a plan of
// several ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "runtime/ranks/communicator.h"
#include "runtime/ranks/mesh.h"

namespace smelt {

class RankGroups {
 public:
  virtual ~RankGroups() = default;

  virtual const Mesh& mesh() const = 0;
  virtual int64_t rank() const = 0;  // in the mesh
  /// Returns the ranks that differ from this one along this axis alone, in the order of their places along
  /// it.
  virtual Communicator& along(size_t axis) = 0;
  /// All ranks, in order. Its calls and those of `along` are in one order at every rank.
  virtual Communicator& everyone() = 0;

  /// Reports this rank's current work, for messages of other ranks that have lost it. Each call counts as
  /// progress: calls must not be further apart than the progress timeout.
  virtual void progress(std::string_view what, int64_t step) = 0;
  /// Ends the calls that other ranks wait in, and later ones, with an Error that has this text.
  virtual void report_failure(std::string_view text) = 0;
  /// Sets a listener that is called once, by a thread of its own, with the text of the failure that ended the
  /// run. It ends waits elsewhere, such as those of a GPU, and must not throw. A later listener replaces an
  /// earlier one; an empty one removes it.
  virtual void on_failure(std::function<void(const std::string& text)> /*listener*/) {}
};

}  // namespace smelt
