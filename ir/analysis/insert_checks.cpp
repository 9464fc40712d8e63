#include "ir/analysis/insert_checks.h"

#include "ir/graph/insertion.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

namespace smelt {
namespace {

bool is_view_of_one(const Node& node) {
  return info(node.op()).has(Trait::view) && node.operands().size() == 1;
}

const Value* behind_views(const Value* value) {
  while (is_view_of_one(*value->node())) value = value->node()->operand(0);
  return value;
}

/// Returns whether `value` is a view of `target`. The parts of a concat may share its memory.
bool looks_at(const Value* value, const Value* target) {
  if (value == target) return true;
  return info(value->node()->op()).has(Trait::view) &&
         llvm::any_of(value->node()->operands(), [&](const Value* part) { return looks_at(part, target); });
}

class InsertChecks {
 public:
  InsertChecks(llvm::ArrayRef<const Node*> nodes, llvm::function_ref<bool(const Value*)> is_output)
      : nodes_(nodes), is_output_(is_output) {
    for (const Node* node : nodes)
      for (const auto& result : node->results()) inner_.insert(result.get());
  }

  std::string run() const {
    for (const Node* node : nodes_) {
      if (node->is(Op::insert) && !inner_.contains(node->operand(0)) && reads_target_of(*node))
        return "it would read what it writes into";
      for (const Value* operand : node->operands())
        if (operand->node()->is(Op::insert) && inner_.contains(operand)) {
          if (!goes_on(*node, operand)) return "what an insert leaves is read from memory";
          if (may_overwrite(*node)) return "two inserts may write the same elements";
        }
    }
    return "";
  }

 private:
  bool reads_target_of(const Node& insert) const {
    const Value* target = behind_views(insert.operand(0));
    return llvm::any_of(nodes_, [&](const Node* node) {
      const auto read = node->operands().drop_front(node->is(Op::insert) ? 1 : 0);
      return llvm::any_of(
          read, [&](const Value* value) { return !inner_.contains(value) && looks_at(value, target); });
    });
  }

  /// The node is another insert into what one leaves, which nothing else reads.
  bool goes_on(const Node& node, const Value* left) const {
    return node.is(Op::insert) && node.operand(0) == left && left->users().size() == 1 && !is_output_(left);
  }

  bool may_overwrite(const Node& insert) const {
    for (const Node* earlier = insert.operand(0)->node();
         earlier->is(Op::insert) && inner_.contains(earlier->result()); earlier = earlier->operand(0)->node())
      if (!write_apart(insert, *earlier) || !knows_constants(insert) || !knows_constants(*earlier))
        return true;
    return false;
  }

  /// Constant indices are the kernel's own.
  bool knows_constants(const Node& insert) const {
    return llvm::all_of(insert.operands().drop_front(2), [&](const Value* index) {
      return !index->node()->is(Op::constant) || inner_.contains(index);
    });
  }

  llvm::ArrayRef<const Node*> nodes_;
  llvm::function_ref<bool(const Value*)> is_output_;
  llvm::DenseSet<const Value*> inner_;
};

}  // namespace

std::vector<unsigned> operands_in_target(const Node& insert) {
  const Value* target = behind_views(insert.operand(0));
  std::vector<unsigned> found;
  for (unsigned i = 1; i < insert.operands().size(); ++i)
    if (looks_at(insert.operand(i), target)) found.push_back(i);
  return found;
}

std::string refusal_of_inserts(llvm::ArrayRef<const Node*> nodes,
                               llvm::function_ref<bool(const Value*)> is_output) {
  const auto is_insert = [](const Node* node) { return node->is(Op::insert); };
  return llvm::none_of(nodes, is_insert) ? "" : InsertChecks(nodes, is_output).run();
}

}  // namespace smelt
