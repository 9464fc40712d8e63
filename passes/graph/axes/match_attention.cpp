#include "passes/graph/axes/match_attention.h"

#include <cmath>
#include <limits>

#include "ir/analysis/uses.h"
#include "ir/graph/attention_body.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/analysis.h"
#include "passes/expressions.h"
#include "passes/graph/axes/attention_pattern.h"
#include "passes/graph/axes/axes_passes.h"
#include "passes/graph/axes/score_values.h"
#include "passes/graph/simplify/seen_keys.h"

namespace smelt {
namespace {

Value* ordered(GraphBuilder& b, const LetteredOperand& operand) {
  return llvm::is_sorted(operand.permutation) ? operand.value
                                              : b.transpose(operand.value, operand.permutation);
}

/// select(holds, 0, low), perhaps broadcast to the scores, whose dims those of `holds` are.
struct AddedMask {
  Value* holds;
  ScoreValues::Dims dims;
  double low;
};

std::optional<AddedMask> added_mask(Value* mask) {
  ScoreValues::Dims dims = leading_axes(mask->rank());
  for (; mask->node()->is(Op::broadcast); mask = mask->node()->operand(0))
    dims = dims_before(*mask->node(), dims);
  const Node& choice = *mask->node();
  if (!choice.is(ScalarOp::select) || splat(choice.operand(1)) != 0) return std::nullopt;
  const auto low = splat(choice.operand(2));
  if (!low || *low >= kLowestScore) return std::nullopt;
  return AddedMask{choice.operand(0), std::move(dims), std::isinf(*low) ? *low : kLowestScore};
}

/// Writes the operations between the matmuls into the body of an attention.
class BodyOfScores {
 public:
  /// `scaled` is the value that the attention hands to its body, as `score`.
  BodyOfScores(const AttentionPattern& pattern, AttentionWriter& attention, GraphBuilder& inside,
               Value* score, Value* scaled)
      : pattern_(pattern),
        inside_(inside),
        outside_(inside, score->shape(),
                 [&attention](Value* value, const Dims& dims) { return attention.read(value, dims); }) {
    made_[scaled] = score;
  }

  Value* write() {
    Value* modified = of_score(pattern_.softmax->operand(0));
    return outside_.is_low() ? inside_.max(modified, inside_.like(modified, kLowestScore)) : modified;
  }

 private:
  using Dims = ScoreValues::Dims;

  Value* of_score(Value* value) {
    if (Value* known = made_.lookup(value)) return known;
    const Node& node = *value->node();
    if (!pattern_.between.contains(&node)) return outside_.spread(value, leading_axes(value->rank()));
    Value* made = masked(node);
    return made_[value] = made ? made : again(node);
  }

  Value* again(const Node& node) {
    llvm::SmallVector<Value*, 3> operands;
    for (Value* operand : node.operands()) operands.push_back(of_score(operand));
    return on_operands(inside_, node, operands);
  }

  /// A mask that adds 0 or -inf to scores chooses between them and -inf. One that adds 0 or a very low number
  /// still adds: a query that sees no key has equal weights, and their gradients reach its scores.
  Value* masked(const Node& node) {
    if (!node.is(ScalarOp::add)) return nullptr;
    for (unsigned i : {0u, 1u}) {
      if (pattern_.between.contains(node.operand(i)->node())) continue;
      if (const auto mask = added_mask(node.operand(i))) {
        Value* score = of_score(node.operand(1 - i));
        Value* holds = outside_.spread(mask->holds, mask->dims);
        if (std::isinf(mask->low)) return inside_.select(holds, score, inside_.like(score, mask->low));
        return inside_.add(score,
                           inside_.select(holds, inside_.like(score, 0), inside_.like(score, mask->low)));
      }
    }
    return nullptr;
  }

  const AttentionPattern& pattern_;
  GraphBuilder& inside_;
  ScoreValues outside_;
  llvm::DenseMap<const Value*, Value*> made_;
};

/// Scores times a number: what the attention's scale computes.
struct Scaled {
  Value* value;
  double factor;
};

Scaled scaled_product(const AttentionPattern& pattern) {
  Value* product = pattern.product->result();
  if (!has_one_use(*product)) return {product, 1};
  const Node& next = *product->users()[0];
  const bool is_first = next.operands().size() == 2 && next.operand(0) == product;
  const auto number = is_first ? splat(next.operand(1)) : std::nullopt;
  if (number && next.is(ScalarOp::mul)) return {next.result(), *number};
  if (number && *number != 0 && next.is(ScalarOp::div)) return {next.result(), 1 / *number};
  return {product, 1};
}

/// The means as a softmax makes them: NaN for a query whose scores are all -inf, of which an attention has 0.
Value* as_softmax(GraphBuilder& b, const Node& attention) {
  Value* means = attention.result(0);
  if (!may_see_no_key(attention)) return means;
  Value* lse = b.transpose(attention.result(1), {0, 2, 1});
  Value* none = b.eq(lse, b.like(lse, -std::numeric_limits<double>::infinity()));
  Value* nan = b.like(means, std::numeric_limits<double>::quiet_NaN());
  return b.select(b.broadcast(none, {0, 1, 2}, means->shape()), nan, means);
}

/// The attention, and the axes of its means in the order of the mix's.
Value* attend(GraphBuilder& b, const AttentionPattern& pattern, const QueriesAndKeys& of_product,
              const ValuesAndMeans& of_mix) {
  Value* queries = ordered(b, of_product.queries);
  Value* keys = ordered(b, of_product.keys);
  const Scaled scaled = scaled_product(pattern);
  AttentionWriter attention(b, queries, keys, ordered(b, of_mix.values), scaled.factor);
  if (scaled.value != pattern.softmax->operand(0))
    attention.modify([&](GraphBuilder& inside, Value* score) {
      return BodyOfScores(pattern, attention, inside, score, scaled.value).write();
    });
  if (const Node* dropout = pattern.dropout)
    attention.drop(dropout->get(attr::p), static_cast<uint32_t>(dropout->get(attr::id)));
  return ordered(b, {as_softmax(b, *attention.finish()), of_mix.means});
}

bool raise(Graph& graph, Node& softmax) {
  const auto pattern = attention_pattern(softmax);
  if (!pattern) return false;
  const Value* weights = (pattern->dropout ? pattern->dropout : pattern->softmax)->result();
  const auto of_product = queries_and_keys(*pattern->product);
  const auto of_mix = values_and_means(*pattern->mix, weights);
  if (!of_product || !of_mix) return false;
  GraphBuilder b(graph, pattern->mix);
  const InheritMarks marks(graph, pattern->mix, *pattern->mix);
  b.set_source(softmax.source);
  graph.replace_all_uses(pattern->mix->result(), attend(b, *pattern, *of_product, *of_mix));
  return true;
}

}  // namespace

bool match_attention(Graph& graph, const MatchAttentionOptions&) {
  bool changed = graph.prune();
  for (Node* softmax : nodes_of(graph, Op::softmax)) changed |= raise(graph, *softmax);
  graph.prune();
  return changed;
}

}  // namespace smelt
