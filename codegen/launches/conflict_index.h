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
  explicit ConflictIndex(llvm::ArrayRef<Footprint> steps);

  /// Return the last step before `step`, and the first step after `step`, that conflicts with a step whose
  /// accesses are `touched`; nothing if there is none.
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
  /// Calls `visit` once for every piece that `touched` covers, with the steps that conflict with the access
  /// to that piece.
  void visit_conflicts(const Footprint& touched,
                       llvm::function_ref<void(const std::set<size_t>&)> visit) const;

  std::map<int, Memory> memories_;  // by Touch::memory
};

}  // namespace smelt
