// An index that finds the nearest steps before and after a step that conflict with it, without visiting all
// steps in between. Two steps conflict if one of them writes memory that the other accesses.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "ir/analysis/step_footprint.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace smelt {

/// An index of the memory that steps access. Steps are numbered in program order. Memory is split into pieces
/// such that every access covers whole pieces.
class ConflictIndex {
 public:
  /// `steps`: the footprint of each step, which is the list of its memory accesses, in program order.
  explicit ConflictIndex(llvm::ArrayRef<Footprint> steps);

  /// Return the number of the last step before `step`, and of the first step after `step`, that conflicts
  /// with the accesses `touched`; nothing if there is no such step.
  std::optional<size_t> last_before(size_t step, const Footprint& touched) const;
  std::optional<size_t> first_after(size_t step, const Footprint& touched) const;
  /// Records that the accesses `touched`, which were made by step `from`, are now made by step `to`.
  void move(const Footprint& touched, size_t from, size_t to);

 private:
  struct Piece {
    std::set<size_t> touching, writing;  // steps that access the piece, and those that write it
  };
  struct Memory {
    std::vector<int64_t> cuts;  // piece i is [cuts[i], cuts[i + 1])
    std::vector<Piece> pieces;
  };
  /// Return the pieces that an access covers.
  llvm::MutableArrayRef<Piece> pieces(const Touch& touch);
  llvm::ArrayRef<Piece> pieces(const Touch& touch) const;
  void add(const Footprint& touched, size_t step);
  /// Calls `visit` for every access of `touched` and every piece that this access covers. The argument of
  /// `visit` is the set of steps that conflict with the access at that piece.
  void visit_conflicts(const Footprint& touched,
                       llvm::function_ref<void(const std::set<size_t>&)> visit) const;

  std::map<int, Memory> memories_;  // by Touch::memory
};

}  // namespace smelt
