// Ranges of a select's operands under its condition or the negation.
#include "ir/analysis/index_ranges.h"
#include "ir/analysis/integer_ranges.h"

namespace smelt {
namespace {

/// Limits of recomputation: nodes per branch, and nested selects.
constexpr size_t kMostNodes = 64;
constexpr int kMostSelects = 2;

bool is_integer(const Value& value) { return !is_float(value.dtype()); }

/// Returns whether the node compares integers.
bool is_comparison(const Node& node) {
  return node.is(Op::pointwise) && info(node.scalar_op).complement && is_integer(*node.operand(0)) &&
         is_integer(*node.operand(1));
}

/// Elementwise computations from values whose ranges are narrowed.
class Cone {
 public:
  explicit Cone(const llvm::DenseMap<const Value*, IndexRange>& narrowed) : narrowed_(narrowed) {}

  /// Returns whether the value depends on them. Beyond a number of nodes the answer is no, which says less.
  bool add(const Value* value) {
    if (narrowed_.contains(value)) return true;
    if (const auto known = depends_.find(value); known != depends_.end()) return known->second;
    const Node& node = *value->node();
    const bool elementwise = node.is(Op::pointwise) || node.is(Op::convert) || node.is(Op::stop_gradient);
    if (!elementwise || depends_.size() >= kMostNodes) return false;
    depends_[value] = false;
    bool depends = false;
    for (const Value* operand : node.operands()) depends |= add(operand);
    if (depends) order_.push_back(value);
    return depends_[value] = depends;
  }
  llvm::ArrayRef<const Value*> order() const { return order_; }

 private:
  const llvm::DenseMap<const Value*, IndexRange>& narrowed_;
  llvm::DenseMap<const Value*, bool> depends_;
  std::vector<const Value*> order_;
};

}  // namespace

IndexRange IndexRanges::now(const Narrowed& narrowed, const Value* value) const {
  const auto known = narrowed.find(value);
  return known == narrowed.end() ? at(value) : known->second;
}

/// Narrows the ranges of integers that the condition compares; returns false if it never holds. Floats keep
/// their range, because another kernel may read them with another rounding than the comparing one.
bool IndexRanges::narrow(Narrowed& narrowed, const Value* condition, bool holds) const {
  const Node& node = *condition->node();
  if (node.is(ScalarOp::logical_not)) return narrow(narrowed, node.operand(0), !holds);
  if (node.is(holds ? ScalarOp::logical_and : ScalarOp::logical_or))
    return narrow(narrowed, node.operand(0), holds) && narrow(narrowed, node.operand(1), holds);
  if (!is_comparison(node)) return true;
  const ScalarOp op = holds ? node.scalar_op : *info(node.scalar_op).complement;
  const IndexRange x = now(narrowed, node.operand(0)), y = now(narrowed, node.operand(1));
  const auto a = part(x, op, y), b = part(y, *info(op).swapped, x);
  if (!a || !b) return false;
  narrowed[node.operand(0)] = *a;
  narrowed[node.operand(1)] = *b;
  return true;
}

/// The range of an operand where it is chosen; nothing where it never is.
std::optional<IndexRanges::Known> IndexRanges::chosen(const Node& select, unsigned operand) {
  Narrowed narrowed;
  if (!narrow(narrowed, select.operand(0), operand == 1)) return std::nullopt;
  const Value& value = *select.operand(operand);
  if (const auto itself = narrowed.find(&value); itself != narrowed.end()) return Known{itself->second, {}};
  if (selects_around_ >= kMostSelects) return known(value);
  ++selects_around_;
  Known found = found_again(value, narrowed);
  --selects_around_;
  return found;
}

/// The value's range while others have narrower ones.
IndexRanges::Known IndexRanges::found_again(const Value& value, const Narrowed& narrowed) {
  Cone cone(narrowed);
  if (!cone.add(&value)) return known(value);
  std::vector<std::pair<const Value*, Known>> before;
  const auto replace = [&](const Value* of, const Known& by) {
    before.emplace_back(of, known(*of));
    know(*of, by);
  };
  for (const auto& [of, range] : narrowed) replace(of, {range, {}});
  for (const Value* of : cone.order()) replace(of, find(*of));
  Known found = known(value);
  for (const auto& [of, was] : before) know(*of, was);
  return found;
}

}  // namespace smelt
