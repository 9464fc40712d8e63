#include "ir/analysis/attention_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "ir/analysis/uses.h"
#include "ir/graph/body.h"
#include "llvm/ADT/STLExtras.h"

namespace smelt {
namespace {

constexpr int64_t kWidestHead = 256;

bool is_minus_infinity(const Value* value) {
  return splat(value) == -std::numeric_limits<double>::infinity();
}

/// The argument that a value of the scores' shape repeats along a row; null where it is no such value.
const BodyArgument* row_argument(const Value* value, llvm::ArrayRef<BodyArgument> arguments) {
  const Node& node = *value->node();
  if (!node.is(Op::broadcast) || node.get(attr::axes) != std::vector<int64_t>{0, 1, 2}) return nullptr;
  const auto found =
      llvm::find_if(arguments, [&](const BodyArgument& a) { return a.input == node.operand(0); });
  const bool fits = found != arguments.end() && found->operand->dtype() == DType::f32;
  return fits ? found : nullptr;
}

/// select(modified = -inf, 0, exp(modified - lse))
std::optional<AttentionWeight> as_weight(const Node& node, llvm::ArrayRef<BodyArgument> arguments) {
  if (!node.is(ScalarOp::select) || splat(node.operand(1)) != 0.0) return std::nullopt;
  const Node &test = *node.operand(0)->node(), &power = *node.operand(2)->node();
  if (!test.is(ScalarOp::eq) || !is_minus_infinity(test.operand(1)) || !power.is(ScalarOp::exp))
    return std::nullopt;
  const Node& difference = *power.operand(0)->node();
  if (!difference.is(ScalarOp::sub) || difference.operand(0) != test.operand(0)) return std::nullopt;
  const BodyArgument* lse = row_argument(difference.operand(1), arguments);
  if (!lse) return std::nullopt;
  return AttentionWeight{.weight = node.result(), .modified = test.operand(0), .lse = lse->operand};
}

/// Returns a phrase why a kernel cannot compute an operation of a body; nothing if it can.
std::optional<std::string> unfit(const Node& node, const Type& scores, bool is_gradient) {
  if (node.is(Op::reduce) && is_gradient && node.is(ReduceOp::add)) return std::nullopt;
  if (node.is(Op::reduce) || node.is(Op::gather) || node.is(Op::transpose))
    return fmt::format("{} in its body", node.mnemonic());
  if (node.is(Op::constant) && !node.has(attr::value)) return "a table in its body";
  if (node.is(Op::random) && node.result()->shape() != scores.shape)
    return "random numbers of another shape than the scores'";
  return std::nullopt;
}

/// Sums over keys (and queries, heads, batch outside), over queries, or over heads and batch.
bool is_sum_of_kernel(const Value* output) {
  const Node& node = *output->node();
  if (!node.is(Op::reduce)) return output->rank() == 4;
  const auto& axes = node.get(attr::axes);
  if (node.operand(0)->rank() != 4) return false;
  if (axes.size() == 1 && axes[0] >= 2) return true;
  return llvm::all_of(axes, [](int64_t axis) { return axis < 2; });
}

std::optional<std::string> unfit_body(const Node& attention) {
  const bool is_gradient = attention.is(Op::attention_grad);
  const Type& scores = handed_values(attention).front()->type;
  for (const auto& node : attention.body->nodes())
    if (auto reason = unfit(*node, scores, is_gradient)) return reason;
  const auto& outputs = attention.body->outputs;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Node& made = *outputs[i].value->node();
    if (made.is(Op::constant) || (is_gradient && i < 2 && made.is(Op::input)))
      return "a body that returns no computed value";
    if (is_gradient && i >= 2 && !is_sum_of_kernel(outputs[i].value))
      return "a gradient of what it reads that is summed in another way";
  }
  return std::nullopt;
}

}  // namespace

bool reads_codes(const Node& attention) {
  return attention.is(Op::attention) && own_operands(attention).size() > 3;
}

std::optional<AttentionWeight> attention_weight(const Node& gradient) {
  const std::vector<BodyArgument> arguments = body_arguments(gradient);
  std::optional<AttentionWeight> found;
  for (const auto& node : gradient.body->nodes())
    if (auto weight = as_weight(*node, arguments)) found = weight;
  if (!found) return found;
  for (const auto& node : gradient.body->nodes()) {
    if (!node->is(Op::broadcast) || node->result() == found->weight) continue;
    const BodyArgument* row = row_argument(node->result(), arguments);
    if (!row || row->operand == found->lse) continue;
    if (!found->delta) found->delta = row->operand, found->delta_in_body = node->result();
  }
  return found->delta ? found : std::nullopt;
}

std::optional<std::string> why_no_blocked_attention(const Node& attention) {
  const Shape &q = attention.operand(0)->shape(), &v = attention.operand(2)->shape();
  if (!q[3].constant() || v[3] != q[3])
    return fmt::format("heads are {} and {} wide, and blocks take equal widths", q[3].str(), v[3].str());
  if (attention.body)
    if (auto reason = unfit_body(attention)) return "no block takes " + *reason;
  return std::nullopt;
}

int64_t most_decode_queries(const Node& attention) {
  const auto heads = attention.operand(0)->shape()[2].constant(),
             key_heads = attention.operand(1)->shape()[2].constant();
  return heads && key_heads ? std::max<int64_t>(1, kMostSmallM * *key_heads / *heads) : 0;
}

bool may_be_decode_attention(const Node& attention) {
  if (!attention.is(Op::attention) || attention.result_count() > 2) return false;
  const Dim &queries = attention.operand(0)->shape()[1], &keys = attention.operand(1)->shape()[1];
  const bool has_cache = keys.is_constant() && !queries.is_constant();
  const int64_t most = most_decode_queries(attention);
  if (most == 0 || (!has_cache && attention.graph().module().symbols.upper(queries) > most)) return false;
  if (!attention.body) return true;
  return attention.body->outputs.size() == 1 &&
         llvm::none_of(attention.body->nodes(), [](const auto& node) { return node->is(Op::random); });
}

namespace {

/// [batch, keys, heads, width] of a table [rows, heads, width], or [batch, keys, heads] of one [rows, heads].
bool takes_rows(const Node& node) {
  return node.is(Op::gather) && node.get(attr::axis) == 0 && node.operand(1)->rank() == 2 &&
         node.operand(1)->dtype() == DType::i32;
}

/// Returns whether the graph updates the state of the table. Only nodes that are known as readers of old
/// content run before the update.
bool is_overwritten(const Value* table) {
  const Node* node = table->node();
  while (info(node->op()).has(Trait::view)) node = node->operand(0)->node();
  if (!node->is(Op::state)) return false;
  return llvm::any_of(node->graph().nodes(), [&](const auto& other) {
    return other->is(Op::update) && other->get(attr::state) == node->get(attr::name);
  });
}

bool is_always_decode_attention(const Node& attention) {
  const Dim& queries = attention.operand(0)->shape()[1];
  return may_be_decode_attention(attention) &&
         attention.graph().module().symbols.upper(queries) <= most_decode_queries(attention);
}

bool has_a_tile_at_most(const Node& attention) {
  const Dim& queries = attention.operand(0)->shape()[1];
  return attention.is(Op::attention) && attention.graph().module().symbols.upper(queries) <= kTileQueries;
}

bool has_queries(const Node& attention, TableQueries queries) {
  if (queries == TableQueries::any || is_always_decode_attention(attention)) return true;
  return queries == TableQueries::tile && has_a_tile_at_most(attention);
}

bool reads_in_table(const Node& attention, TableQueries queries) {
  if (!has_queries(attention, queries)) return false;
  const Node& keys = *attention.operand(1)->node();
  return llvm::all_of(own_operands(attention).drop_front(), [&](const Value* read) {
    const Node& rows = *read->node();
    return takes_rows(rows) && rows.operand(1) == keys.operand(1) &&
           rows.operand(0)->shape()[0] == keys.operand(0)->shape()[0] && !is_overwritten(rows.operand(0));
  });
}

}  // namespace

bool is_read_in_table(const Node& gather, TableQueries queries) {
  if (!gather.is(Op::gather) || gather.graph().is_output(gather.result())) return false;
  return llvm::all_of(gather.result()->users(), [&](const Node* user) {
    return user->is(Op::attention) && reads_in_table(*user, queries) && user->operand(0) != gather.result() &&
           llvm::count(user->operands(), gather.result()) ==
               llvm::count(own_operands(*user), gather.result());
  });
}

std::optional<std::string> why_no_attention_kernel(const Node& attention, DType storage) {
  const bool is_narrow = storage == DType::bf16 || storage == DType::f16;
  if (!is_narrow && !(storage == DType::f32 && may_be_decode_attention(attention)))
    return fmt::format("heads are stored as {}, and kernels take bf16 and f16{}", name(storage),
                       storage == DType::f32 ? ", and f32 where few queries read a cache" : "");
  const Shape &q = attention.operand(0)->shape(), &v = attention.operand(2)->shape();
  const auto width = q[3].constant();
  if (!width || *width > kWidestHead || v[3] != q[3])
    return fmt::format("heads are {} and {} wide, and kernels take equal widths up to {}", q[3].str(),
                       v[3].str(), kWidestHead);
  if (attention.body)
    if (auto reason = unfit_body(attention)) return "no kernel takes " + *reason;
  if (attention.is(Op::attention_grad) && !attention_weight(attention))
    return "its body does not compute exp(modified - lse) and read one more number a row";
  return std::nullopt;
}

}  // namespace smelt
