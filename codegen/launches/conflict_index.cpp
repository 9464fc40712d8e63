#include "codegen/launches/conflict_index.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace smelt {

ConflictIndex::ConflictIndex(llvm::ArrayRef<Footprint> steps) {
  for (const Footprint& step : steps)
    for (const Touch& touch : step) {
      auto& cuts = memories_[touch.memory].cuts;
      cuts.push_back(touch.begin), cuts.push_back(touch.end);
    }
  for (auto& [number, memory] : memories_) {
    std::ranges::sort(memory.cuts);
    memory.cuts.erase(std::ranges::unique(memory.cuts).begin(), memory.cuts.end());
    memory.pieces.resize(memory.cuts.size());
  }
  for (size_t i = 0; i < steps.size(); ++i) add(steps[i], i);
}

llvm::ArrayRef<ConflictIndex::Piece> ConflictIndex::pieces(const Touch& touch) const {
  const Memory& memory = memories_.at(touch.memory);
  const auto at = [&](int64_t cut) {
    return static_cast<size_t>(std::ranges::lower_bound(memory.cuts, cut) - memory.cuts.begin());
  };
  return llvm::ArrayRef(memory.pieces).slice(at(touch.begin), at(touch.end) - at(touch.begin));
}

llvm::MutableArrayRef<ConflictIndex::Piece> ConflictIndex::pieces(const Touch& touch) {
  const llvm::ArrayRef<Piece> found = std::as_const(*this).pieces(touch);
  return {const_cast<Piece*>(found.data()), found.size()};
}

void ConflictIndex::add(const Footprint& touched, size_t step) {
  for (const Touch& touch : touched)
    for (Piece& piece : pieces(touch)) {
      piece.touching.insert(piece.touching.end(), step);
      if (touch.written) piece.writing.insert(piece.writing.end(), step);
    }
}

void ConflictIndex::move(const Footprint& touched, size_t from, size_t to) {
  for (const Touch& touch : touched)
    for (Piece& piece : pieces(touch)) piece.touching.erase(from), piece.writing.erase(from);
  add(touched, to);
}

void ConflictIndex::visit_conflicts(const Footprint& touched,
                                    llvm::function_ref<void(const std::set<size_t>&)> visit) const {
  for (const Touch& touch : touched)
    for (const Piece& piece : pieces(touch)) visit(touch.written ? piece.touching : piece.writing);
}

std::optional<size_t> ConflictIndex::last_before(size_t step, const Footprint& touched) const {
  std::optional<size_t> last;
  visit_conflicts(touched, [&](const std::set<size_t>& others) {
    const auto after = others.lower_bound(step);
    if (after != others.begin()) last = std::max(last, std::optional(*std::prev(after)));
  });
  return last;
}

std::optional<size_t> ConflictIndex::first_after(size_t step, const Footprint& touched) const {
  std::optional<size_t> first;
  visit_conflicts(touched, [&](const std::set<size_t>& others) {
    const auto after = others.upper_bound(step);
    if (after != others.end() && (!first || *after < *first)) first = *after;
  });
  return first;
}

}  // namespace smelt
