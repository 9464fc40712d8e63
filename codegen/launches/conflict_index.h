// Which step of a list another one must stay behind or before, without a look at all between them.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "ir/analysis/step_footprint.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace smelt {

/// Steps are numbers in program order; what they touch is cut into pieces, so that a piece is touched as a
/// whole or not at all.
class ConflictIndex {
 public:
  explicit ConflictIndex(llvm::ArrayRef<Footprint> steps);

  /// The last step before `step`, and the first after it, that conflict() says of `touched`.
  std::optional<size_t> last_before(size_t step, const Footprint& touched) const;
  std::optional<size_t> first_after(size_t step, const Footprint& touched) const;
  /// What `from` touched, `to` touches from now on.
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
