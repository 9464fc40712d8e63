#include "passes/graph/layout/matmul_layouts.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "ir/analysis/view.h"
#include "ir/ops/matmul_spec.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/analysis.h"

namespace smelt {
namespace {

constexpr size_t kResult = 2;

/// A value as an operand (0, 1) or the result (2) of a matmul.
class Slot {
 public:
  Slot(const Node& matmul, size_t index, const Symbols& symbols) : index_(index), symbols_(symbols) {
    const MatmulSpec spec = parse_matmul_spec(matmul.get(attr::spec));
    letters_ = {spec.a, spec.b, spec.out};
    values_ = {matmul.operand(0), matmul.operand(1), matmul.result()};
  }

  /// Returns the number of dims beyond one of each kind that its letters make with these strides.
  int gaps(const std::vector<Dim>& strides) const {
    int count = 0;
    for (const std::string& letters : kinds())
      for (size_t i = 0; i + 1 < letters.size(); ++i)
        count += strides[at(letters[i])] != strides[at(letters[i + 1])] * extent(letters[i + 1]);
    return count;
  }

  /// Strides without gaps and with the last dim innermost; nothing where these exclude each other.
  std::optional<std::vector<Dim>> without_gaps(const Dim& pitch) const {
    auto [batch, first, second] = kinds();
    const char last = letters_[index_].back();
    if (first.ends_with(last)) std::swap(first, second);
    if (!second.ends_with(last)) return std::nullopt;
    const std::string order = batch + first + second;
    std::vector<Dim> strides(letters_[index_].size(), Dim(1));
    Dim stride = 1;
    for (size_t i = order.size(); i-- > 0;) {
      strides[at(order[i])] = stride;
      stride = order[i] == last ? pitch : stride * extent(order[i]);
    }
    return strides;
  }

 private:
  /// Those that all three matrices have, and those that it shares with one other alone. In the order of the
  /// largest matrix, which is most likely to stay as it is.
  std::array<std::string, 3> kinds() const {
    const size_t one = (index_ + 1) % 3, other = (index_ + 2) % 3;
    std::array<std::string, 3> kinds;
    for (const char letter : letters_[largest({index_, one, other})])
      if (in(one, letter) && in(other, letter)) add(kinds[0], letter);
    for (const char letter : letters_[largest({index_, one})])
      if (!in(other, letter)) add(kinds[1], letter);
    for (const char letter : letters_[largest({index_, other})])
      if (!in(one, letter)) add(kinds[2], letter);
    return kinds;
  }

  void add(std::string& kind, char letter) const {
    if (in(index_, letter) && !(extent(letter).is_one() && letter != letters_[index_].back())) kind += letter;
  }

  /// The same for all that are compared: the first of equals.
  size_t largest(std::vector<size_t> among) const {
    std::ranges::sort(among);
    return *std::ranges::max_element(
        among, {}, [&](size_t matrix) { return symbols_.upper(element_count(values_[matrix]->shape())); });
  }

  bool in(size_t matrix, char letter) const { return letters_[matrix].find(letter) != std::string::npos; }
  size_t at(char letter) const { return letters_[index_].find(letter); }
  const Dim& extent(char letter) const { return values_[index_]->shape()[at(letter)]; }

  size_t index_;
  const Symbols& symbols_;
  std::array<std::string, 3> letters_;
  std::array<const Value*, 3> values_;
};

class MatmulStrides {
 public:
  MatmulStrides(const Value& value, const Dim& pitch)
      : value_(value), pitch_(pitch), symbols_(value.node()->graph().module().symbols) {}

  std::optional<std::vector<Dim>> run() {
    const Node& maker = *value_.node();
    if (maker.body && maker.is(Op::matmul)) return std::nullopt;  // its addend has the layout of its result
    if (maker.is(Op::matmul)) propose(Slot(maker, kResult, symbols_), {});
    visit_slots(value_, {});
    if (proposals_.empty()) return std::nullopt;
    std::optional<std::vector<Dim>> best;
    int least = gaps(dense_strides(value_.shape(), pitch_)).value_or(std::numeric_limits<int>::max());
    for (const std::vector<Dim>& strides : proposals_)
      if (const auto count = gaps(strides); count && *count < least) best = strides, least = *count;
    return best;
  }

 private:
  using Views = std::vector<const Node*>;  // from the value on

  std::vector<Slot> slots(const Node& reader, const Value& value) const {
    std::vector<Slot> found;
    for (size_t i = 0; i < 2; ++i)
      if (reader.operand(i) == &value) found.emplace_back(reader, i, symbols_);
    return found;
  }

  void visit_slots(const Value& value, const Views& views) {
    for (const Node* reader : value.users()) {
      if (reader->is(Op::matmul))
        for (const Slot& slot : slots(*reader, value)) propose(slot, views);
      if (!is_view(*reader)) continue;
      Views more = views;
      more.push_back(reader);
      visit_slots(*reader->result(), more);
    }
  }

  /// Proposes the slot's preferred order of dims, seen through the views, which keep rows.
  void propose(const Slot& slot, const Views& views) {
    if (!views.empty() && views.back()->result()->shape().back() != value_.shape().back()) return;
    auto strides = slot.without_gaps(pitch_);
    if (!strides) return;
    std::optional<Layout> layout = Layout{-1, 0, std::move(*strides)};
    for (const Node* view : llvm::reverse(views))
      if (layout) layout = operand_layout(*view, *layout);
    if (layout && layout->strides.back().is_one()) proposals_.push_back(layout->strides);
  }

  std::optional<int> gaps(const std::vector<Dim>& strides) const {
    const Node& maker = *value_.node();
    const auto found = gaps_of_readers(value_, {-1, 0, strides});
    if (!found) return std::nullopt;
    return *found + (maker.is(Op::matmul) ? Slot(maker, kResult, symbols_).gaps(strides) : 0);
  }

  /// Nothing where a view needs a copy, or where a matmul adds the value to its result.
  std::optional<int> gaps_of_readers(const Value& value, const Layout& layout) const {
    int count = 0;
    for (const Node* reader : value.users()) {
      if (reader->is(Op::matmul)) {
        const std::vector<Slot> found = slots(*reader, value);
        if (found.empty()) return std::nullopt;
        for (const Slot& slot : found) count += slot.gaps(layout.strides);
      }
      if (!is_view(*reader)) continue;
      const auto seen = view_layout(*reader, layout);
      const auto more = seen ? gaps_of_readers(*reader->result(), *seen) : std::nullopt;
      if (!more) return std::nullopt;
      count += *more;
    }
    return count;
  }

  const Value& value_;
  const Dim& pitch_;
  const Symbols& symbols_;
  std::vector<std::vector<Dim>> proposals_;
};

}  // namespace

std::optional<std::vector<Dim>> matmul_strides(const Value& value, const Dim& pitch) {
  return MatmulStrides(value, pitch).run();
}

}  // namespace smelt
