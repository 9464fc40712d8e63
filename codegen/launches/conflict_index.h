// Finds the steps of a list that a step conflicts with, before and after it, without a visit of all steps
// between them.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "ir/analysis/step_footprint.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace smelt {

/// An index of the memory that steps access. Steps are numbers in program order; memory is split into pieces,
/// so that every access covers whole pieces.
class ConflictIndex {
 public:
  explicit ConflictIndex(llvm::ArrayRef<Footprint> steps);

  /// Return the last step before `step`, and the first step after it, that conflicts with `touched`.
  std::optional<size_t> last_before(size_t step, const Footprint& touched) const;
  std::optional<size_t> first_after(size_t step, const Footprint& touched) const;
  /// Moves the accesses in `touched` from step `from` to step `to`.
  void move(const Footprint& touched, size_t from, size_t to);

 private:
  struct Piece {
    std::set<size_t> touching, writing;  // steps
  };
  struct Memory {
    std::vector<int64_t> cuts;  // piece i reaches from cut i to the next
    std::vector<Piece> pieces;
  };
  /// The pieces that a touch covers.
  llvm::MutableArrayRef<Piece> pieces(const Touch& touch);
  llvm::ArrayRef<Piece> pieces(const Touch& touch) const;
  void add(const Footprint& touched, size_t step);
  /// Calls `visit` with the steps that conflict with `touched` in one piece, for every piece of it.
  void visit_conflicts(const Footprint& touched,
                       llvm::function_ref<void(const std::set<size_t>&)> visit) const;

  std::map<int, Memory> memories_;
};

}  // namespace smelt
