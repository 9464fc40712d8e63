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

/// Interface of one rank to its mesh.
class RankGroups {
 public:
  virtual ~RankGroups() = default;

  virtual const Mesh& mesh() const = 0;
  virtual int64_t rank() const = 0;  // number of this rank in the mesh
  /// Returns the communicator of the ranks whose coordinates in the mesh differ from this rank's at most
  /// along the axis with this index. They are in the order of their coordinates along it.
  virtual Communicator& along(size_t axis) = 0;
  /// Returns the communicator of all ranks, in order. All ranks must make the calls of this communicator and
  /// of those of `along` in the same order.
  virtual Communicator& everyone() = 0;

  /// Reports this rank's current work, for messages at other ranks if this rank is lost. Each call counts as
  /// progress. A rank that makes no progress for the progress timeout (Launch::progress_timeout) fails the
  /// run.
  virtual void progress(std::string_view what, int64_t step) = 0;
  /// Fails the run: calls in which other ranks wait, and their later calls, throw Error with this text.
  virtual void report_failure(std::string_view text) = 0;
  /// Sets a function that is called once, if the run fails, with the text of the failure. The function is
  /// called by another thread, or within this call if the run has already failed. It can end waits elsewhere,
  /// such as those of a GPU, and must not throw. It replaces an earlier one; an empty function removes it.
  /// The implementation here ignores the function.
  virtual void on_failure(std::function<void(const std::string& text)> /*listener*/) {}
};

}  // namespace smelt
