#include "passes/graph/layout/part_in_place.h"

#include "ir/analysis/iteration_space.h"
#include "ir/analysis/uses.h"
#include "ir/graph/body.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "passes/analysis.h"

namespace smelt {
namespace {

bool is_injective_view(const Node& node) {
  return is_view(node) && (node.is(Op::slice) || node.is(Op::reshape) || node.is(Op::transpose));
}

/// Finds the part whose slices the pieces of a value replace.
class PartSearch {
 public:
  explicit PartSearch(const Value& value) : value_(value) {}

  std::optional<PartInPlace> run() {
    if (!find_pieces() || value_.node()->graph().is_output(&value_)) return std::nullopt;
    for (Value* operand : fusion_->operands())
      if (Value* part = part_of(*operand); part && replaces(*part))
        if (auto found = behind(*part); found && readers_read(*found->whole)) return found;
    return std::nullopt;
  }

 private:
  /// Finds the pieces: results of one fusion without other readers.
  bool find_pieces() {
    const Node& node = *value_.node();
    if (node.is(Op::concat)) {
      axis_ = node.get(attr::axis);
      for (const Value* piece : node.operands()) {
        if (!has_one_use(*piece)) return false;
        pieces_.push_back(piece);
      }
    } else {
      pieces_.push_back(&value_);
    }
    fusion_ = pieces_.front()->node();
    return fusion_->is(Op::fusion) &&
           llvm::all_of(pieces_, [&](const Value* piece) { return piece->node() == fusion_; });
  }

  /// Returns the part of which the operand is the whole or, for a concat, the begin.
  Value* part_of(Value& operand) const {
    if (!value_.node()->is(Op::concat)) return &operand;
    const Node& slice = *operand.node();
    const bool begins =
        slice.is(Op::slice) && slice.get(attr::axis) == axis_ && slice.get(attr::begin).is_zero();
    return begins ? slice.operand(0) : nullptr;
  }

  bool replaces(const Value& part) const {
    if (part.type != value_.type || !read_by_fusion_alone(part)) return false;
    Dim begin = 0;
    for (const Value* piece : pieces_) {
      const Value* operand = operand_at(part, begin, *piece);
      if (!operand || !body_reads_elementwise(*fusion_, *operand, *piece)) return false;
      if (axis_ >= 0) begin += piece->shape()[static_cast<size_t>(axis_)];
    }
    return true;
  }

  const Value* operand_at(const Value& part, const Dim& begin, const Value& piece) const {
    for (const Value* operand : fusion_->operands()) {
      if (operand->type != piece.type) continue;
      if (axis_ < 0 && operand == &part) return operand;
      const Node& slice = *operand->node();
      if (axis_ >= 0 && slice.is(Op::slice) && slice.operand(0) == &part && slice.get(attr::axis) == axis_ &&
          slice.get(attr::begin) == begin)
        return operand;
    }
    return nullptr;
  }

  bool read_by_fusion_alone(const Value& value) const {
    if (value.node()->graph().is_output(&value)) return false;
    return llvm::all_of(value.users(), [&](const Node* user) {
      if (user == fusion_) return true;
      return is_injective_view(*user) && read_by_fusion_alone(*user->result());
    });
  }

  /// Finds the chain of views from a value that is no view to the part; no other reader sees an element of
  /// the part.
  static std::optional<PartInPlace> behind(Value& part) {
    PartInPlace found{&part, {}};
    while (is_view(*found.whole->node())) {
      const Node& view = *found.whole->node();
      if (!is_injective_view(view) || !sees_alone(view)) return std::nullopt;
      found.views.insert(found.views.begin(), &view);
      found.whole = found.whole->node()->operand(0);
    }
    const Node& maker = *found.whole->node();
    const bool is_sliced = llvm::any_of(found.views, [](const Node* view) { return view->is(Op::slice); });
    if (!is_sliced || !maker.is(Op::matmul) || maker.graph().is_output(found.whole)) return std::nullopt;
    return found;
  }

  static bool sees_alone(const Node& view) {
    const Value& of = *view.operand(0);
    if (of.node()->graph().is_output(&of)) return false;
    return llvm::all_of(of.users(),
                        [&](const Node* user) { return user == &view || are_apart(*user, view); });
  }

  static bool are_apart(const Node& a, const Node& b) {
    if (!a.is(Op::slice) || !b.is(Op::slice) || a.get(attr::axis) != b.get(attr::axis)) return false;
    const auto axis = static_cast<size_t>(a.get(attr::axis));
    const auto ends_before = [axis](const Node& first, const Node& second) {
      const auto room =
          (second.get(attr::begin) - first.get(attr::begin) - first.result()->shape()[axis]).constant();
      return room && *room >= 0;
    };
    return ends_before(a, b) || ends_before(b, a);
  }

  static const Value* behind_views(const Value* value) {
    while (is_view(*value->node())) value = value->node()->operand(0);
    return value;
  }

  bool readers_read(const Value& whole) const {
    return reads(value_, [&](const Node& reader) {
      const bool attends = reader.is(Op::attention) || reader.is(Op::attention_grad);
      return attends && llvm::any_of(reader.operands(),
                                     [&](const Value* operand) { return behind_views(operand) == &whole; });
    });
  }

  /// Returns whether all readers, also through views, satisfy `are_such`.
  static bool reads(const Value& value, llvm::function_ref<bool(const Node&)> are_such) {
    if (value.node()->graph().is_output(&value)) return false;
    return llvm::all_of(value.users(), [&](const Node* user) {
      return is_view(*user) ? reads(*user->result(), are_such) : are_such(*user);
    });
  }

  const Value& value_;
  int64_t axis_ = -1;  // of the concat
  std::vector<const Value*> pieces_;
  const Node* fusion_ = nullptr;
};

}  // namespace

std::optional<PartInPlace> part_in_place(const Value& value) { return PartSearch(value).run(); }

bool body_reads_elementwise(const Node& fusion, const Value& operand, const Value& result) {
  const IterationSpaceResult found = iteration_space(*fusion.body);
  if (!found.space || found.space->levels > 1) return false;
  const IterationSpace& space = *found.space;
  const auto written = space.results.find(fusion.body->outputs[result.index()].value);
  if (written == space.results.end() || written->second.size() != space.axes.size()) return false;
  const auto follows = [&](const Node& user, const Value* input) {
    if (!user.is(Op::pointwise) && !user.is(Op::convert)) return false;
    const auto& axes = space.operands.find(&user)->second;
    for (auto [i, used] : llvm::enumerate(user.operands()))
      if (used == input && axes[i] != written->second) return false;
    return true;
  };
  for (const auto& [taken, input] : body_arguments(fusion))
    if (taken == &operand)
      for (const Node* user : input->users())
        if (!follows(*user, input)) return false;
  return true;
}

}  // namespace smelt
