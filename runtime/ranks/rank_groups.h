// The place of this process in a mesh of ranks, and whom it talks to: what a session runs a plan of several
// ranks with.
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
  /// The ranks that differ from this one along this axis alone, in the order of their places along it.
  virtual Communicator& along(size_t axis) = 0;
  /// All ranks, in order. Its calls and those of `along` are in one order at every rank.
  virtual Communicator& everyone() = 0;

  /// Tells what this rank works on, for messages of others that have lost it. Each call counts as going on:
  /// calls are never further apart than a rank may stand still.
  virtual void progress(std::string_view what, int64_t step) = 0;
  /// Ends the calls that other ranks wait in, and later ones, with an Error that has this text.
  virtual void report_failure(std::string_view text) = 0;
  /// Called once, by a thread of its own, with the text of what ended the run: what waits elsewhere, such as
  /// a GPU, is to be ended there. It must not throw. The last one given counts; an empty one takes it back.
  virtual void on_failure(std::function<void(const std::string& text)> /*listener*/) {}
};

}  // namespace smelt
