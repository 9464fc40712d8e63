#include "passes/graph/axes/attention_pattern.h"

#include <string>

#include "ir/analysis/uses.h"
#include "ir/ops/matmul_spec.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/graph/axes/axes_passes.h"

namespace smelt {

namespace {

bool is_plain_product(const Node& node) {
  const auto is_f32 = [](const Value* value) { return value->dtype() == DType::f32; };
  return node.is(Op::matmul) && !node.body && is_f32(node.result()) && llvm::all_of(node.operands(), is_f32);
}

std::string sorted(std::string letters) {
  llvm::sort(letters);
  return letters;
}

/// Returns the position of each letter of `order`; nothing if `letters` has others.
std::optional<std::vector<int64_t>> places(const std::string& order, const std::string& letters) {
  if (sorted(order) != sorted(letters)) return std::nullopt;
  std::vector<int64_t> result;
  for (char letter : order) result.push_back(static_cast<int64_t>(letters.find(letter)));
  return result;
}

std::optional<LetteredOperand> in_order(Value* value, const std::string& order, const std::string& letters) {
  auto permutation = places(order, letters);
  if (!permutation) return std::nullopt;
  return LetteredOperand{value, std::move(*permutation)};
}

/// The one letter of `letters` that is not in `known`; 0 where it is none or several.
char other_letter(const std::string& letters, const std::string& known) {
  char other = 0;
  for (char letter : letters)
    if (known.find(letter) == std::string::npos) {
      if (other) return 0;
      other = letter;
    }
  return other;
}

/// Follows the operations on scores upwards from the softmax to the first matmul that makes scores.
class Between {
 public:
  /// Returns whether the value is computed from such a matmul.
  bool follow(Value* value, int depth = 0) {
    Node* node = value->node();
    if (depth > kDeepest) return false;
    const auto [known, is_new] = seen_.try_emplace(node, false);
    return is_new ? (seen_[node] = visit(*node, depth)) : known->second;
  }

  Node* product = nullptr;
  llvm::DenseSet<const Node*> nodes;

 private:
  /// Scores are made by few operations; of a longer chain some reads a score and is not found, which
  /// is_closed sees.
  static constexpr int kDeepest = 1000;

  bool visit(Node& node, int depth) {
    if (!product && is_plain_product(node) && queries_and_keys(node)) {
      product = &node;
      return true;
    }
    if (!works_on_elements(node)) return false;
    bool found = false;
    for (Value* operand : node.operands()) found |= follow(operand, depth + 1);
    if (found) nodes.insert(&node);
    return found;
  }

  llvm::DenseMap<const Node*, bool> seen_;
};

/// Drawn for all weights at once, some of which stay.
bool is_plain_dropout(const Node& node) {
  const auto is_plain = [](const auto& attribute) {
    return attribute.first == attr::p.text || attribute.first == attr::id.text;
  };
  if (!node.is(Op::dropout) || !llvm::all_of(node.attributes, is_plain)) return false;
  return node.get(attr::p) >= 0 && node.get(attr::p) < 1;
}

/// The only reader of the value, which is no output; null where there are others.
Node* only_reader(const Value* value) { return has_one_use(*value) ? value->users()[0] : nullptr; }

bool is_closed(const AttentionPattern& pattern) {
  const auto stays_inside = [&](const Node* node) {
    return !node->graph().is_output(node->result()) &&
           llvm::all_of(node->result()->users(), [&](const Node* user) {
             return user == pattern.softmax || pattern.between.contains(user);
           });
  };
  return stays_inside(pattern.product) && llvm::all_of(pattern.between, stays_inside);
}

}  // namespace

std::optional<QueriesAndKeys> queries_and_keys(const Node& product) {
  const MatmulSpec spec = parse_matmul_spec(product.get(attr::spec));
  if (spec.out.size() != 4) return std::nullopt;
  const char b = spec.out[0], h = spec.out[1], t = spec.out[2], s = spec.out[3];
  const bool is_left = spec.a.find(t) != std::string::npos;
  const std::string &of_queries = is_left ? spec.a : spec.b, &of_keys = is_left ? spec.b : spec.a;
  const char d = other_letter(of_queries, spec.out);
  if (!d) return std::nullopt;
  auto queries = in_order(product.operand(is_left ? 0 : 1), {b, t, h, d}, of_queries);
  auto keys = in_order(product.operand(is_left ? 1 : 0), {b, s, h, d}, of_keys);
  if (!queries || !keys) return std::nullopt;
  return QueriesAndKeys{std::move(*queries), std::move(*keys)};
}

std::optional<ValuesAndMeans> values_and_means(const Node& mix, const Value* weights) {
  if (!is_plain_product(mix) || mix.operand(0) == mix.operand(1)) return std::nullopt;
  const MatmulSpec spec = parse_matmul_spec(mix.get(attr::spec));
  const bool is_left = mix.operand(0) == weights;
  const std::string &of_weights = is_left ? spec.a : spec.b, &of_values = is_left ? spec.b : spec.a;
  const char d = other_letter(of_values, of_weights);
  if (of_weights.size() != 4 || !d) return std::nullopt;
  const char b = of_weights[0], h = of_weights[1], t = of_weights[2], s = of_weights[3];
  auto values = in_order(mix.operand(is_left ? 1 : 0), {b, s, h, d}, of_values);
  auto means = places(spec.out, {b, t, h, d});
  if (!values || !means) return std::nullopt;
  return ValuesAndMeans{std::move(*values), std::move(*means)};
}

std::optional<AttentionPattern> attention_pattern(Node& softmax) {
  Between between;
  if (!between.follow(softmax.operand(0))) return std::nullopt;
  AttentionPattern pattern{between.product, std::move(between.nodes), &softmax, nullptr,
                           only_reader(softmax.result())};
  if (pattern.mix && is_plain_dropout(*pattern.mix)) {
    pattern.dropout = pattern.mix;
    pattern.mix = only_reader(pattern.dropout->result());
  }
  if (!pattern.mix || !is_closed(pattern)) return std::nullopt;
  return pattern;
}

}  // namespace smelt
