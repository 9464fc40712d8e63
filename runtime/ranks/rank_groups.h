// The position of this process in a mesh of ranks, and its communicators. A session of a plan for several
// ranks has a RankGroups.
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
  /// Returns the communicator of the ranks along one axis of the mesh: this rank, and the ranks whose
  /// coordinates differ only along this axis. The communicator orders ranks by this coordinate.
  virtual Communicator& along(size_t axis) = 0;
  /// Returns the communicator of all ranks, in order. All ranks must call the functions of all communicators
  /// in the same order.
  virtual Communicator& everyone() = 0;

  /// Reports this rank's current work. Other ranks show it in a message if this rank is lost. Each call
  /// counts as progress. If a rank reports no progress for the time Launch::progress_timeout, the run fails.
  virtual void progress(std::string_view what, int64_t step) = 0;
  /// Makes the run fail. The waiting calls of all other ranks, and their later calls, throw Error with this
  /// text.
  virtual void report_failure(std::string_view text) = 0;
  /// Sets the listener, a function that is called once if the run fails, with the text of the failure.
  /// Another thread calls the listener, or on_failure itself does if the run has already failed. The listener
  /// can end other waits, such as those of a GPU. It must not throw. There is at most one listener: a new one
  /// replaces the old one, and an empty function removes it. This default implementation does nothing.
  virtual void on_failure(std::function<void(const std::string& text)> /*listener*/) {}
};

}  // namespace smelt
