#include "passes/graph/autodiff/trunk.h"

#include <algorithm>
#include <string>

#include "llvm/ADT/MapVector.h"
#include "passes/analysis.h"

namespace smelt {
namespace {

bool multiplies(const Node& node) { return node.is(Op::matmul) || node.is(Op::attention); }

/// Behind views that keep all elements: a part of a value is no trunk.
const Value* whole(const Value* value) {
  while (value->node()->is(Op::reshape) || value->node()->is(Op::transpose))
    value = value->node()->operand(0);
  return value;
}

/// Span of a value that is no view: the positions of its node and its last reader, and the numbers of matmuls
/// before it and before its readers.
struct Span {
  int64_t made = 0, last_read = 0;
  int matmuls = 0;
  int least = -1, most = -1;  // on the longest ways to its readers, those behind parts of it left out

  bool is_skipped() const { return least < most; }
  void read_at(int64_t place, int depth, bool all) {
    last_read = place;
    if (!all) return;
    least = least < 0 ? depth : std::min(least, depth);
    most = std::max(most, depth);
  }
};

class TrunkFinder {
 public:
  TrunkFinder(const Graph& graph, llvm::function_ref<bool(const Node&)> forward) {
    for (const auto& node : graph.nodes())
      if (forward(*node)) add(*node);
    for (const auto& [value, span] : spans_)
      if (span.is_skipped()) skipped_.push_back(&span);
  }

  std::vector<TrunkValue> run() {
    std::vector<TrunkValue> trunk;
    std::vector<int64_t> begins;
    for (const auto& [value, span] : spans_) {
      if (!span.is_skipped() || !carries_all(span)) continue;
      trunk.push_back({value, false});
      begins.push_back(span.made);
    }
    mark_layers(trunk, blocks_from(begins));
    return trunk;
  }

 private:
  void add(const Node& node) {
    const auto place = static_cast<int64_t>(places_++);
    int depth = 0;
    for (const Value* operand : node.operands()) depth = std::max(depth, depths_.lookup(operand->node()));
    depths_[&node] = depth + multiplies(node);
    if (is_view(node)) return;
    for (const Value* operand : node.operands())
      if (auto it = spans_.find(viewed(operand)); it != spans_.end())
        it->second.read_at(place, depth, whole(operand) == it->first);
    if (multiplies(node)) matmuls_.emplace_back(place, shape_of(node));
    if (info(node.op()).has(Trait::leaf)) return;
    for (const auto& result : node.results())
      spans_.insert({result.get(), {.made = place, .matmuls = depths_[&node]}});
  }

  static std::string shape_of(const Node& node) {
    return std::string(node.mnemonic()) + str(node.result()->type) + str(node.operand(1)->type) + ";";
  }

  /// Returns whether all later blocks read the value: another value, after more matmuls, that is read across
  /// blocks is made before the last read of this one.
  bool is_global(const Span& span) const {
    return std::ranges::any_of(skipped_, [&](const Span* other) {
      const bool inside = span.made < other->made && other->made < span.last_read;
      return inside && span.matmuls < other->matmuls;
    });
  }

  bool carries_all(const Span& trunk) const {
    return std::ranges::none_of(spans_, [&](const auto& entry) {
      const Span& span = entry.second;
      return span.matmuls > 0 && span.made < trunk.made && span.last_read > trunk.made && !is_global(span);
    });
  }

  /// The matmuls of every block, as one text.
  std::vector<std::string> blocks_from(const std::vector<int64_t>& begins) const {
    std::vector<std::string> blocks(begins.size());
    for (const auto& [place, shape] : matmuls_) {
      const auto behind = std::ranges::lower_bound(begins, place) - begins.begin();
      if (behind > 0) blocks[static_cast<size_t>(behind) - 1] += shape;
    }
    return blocks;
  }

  static void mark_layers(std::vector<TrunkValue>& trunk, const std::vector<std::string>& blocks) {
    std::ptrdiff_t period = 1;
    for (size_t at = 0; at < blocks.size(); at += static_cast<size_t>(period)) {
      trunk[at].begins_layer = true;
      const auto begin = blocks.begin() + static_cast<std::ptrdiff_t>(at);
      const auto next = std::find(begin + 1, blocks.end(), *begin);
      if (next != blocks.end()) period = next - begin;
    }
  }

  int64_t places_ = 0;
  llvm::DenseMap<const Node*, int> depths_;
  llvm::MapVector<const Value*, Span> spans_;
  std::vector<const Span*> skipped_;
  std::vector<std::pair<int64_t, std::string>> matmuls_;
};

}  // namespace

const Value* viewed(const Value* value) {
  while (is_view(*value->node())) value = value->node()->operand(0);
  return value;
}

std::vector<TrunkValue> find_trunk(const Graph& graph, llvm::function_ref<bool(const Node&)> forward) {
  return TrunkFinder(graph, forward).run();
}

TrunkSegments::TrunkSegments(const Graph& graph, llvm::function_ref<bool(const Node&)> forward,
                             int64_t layers) {
  const std::vector<TrunkValue> trunk = find_trunk(graph, forward);
  const Node* last = trunk.empty() ? nullptr : trunk.back().value->node();
  llvm::DenseSet<const Node*> ends;
  int64_t layer = 0;
  for (const TrunkValue& each : trunk)
    if (layers == 0 || (each.begins_layer && layer++ % layers == 0)) ends.insert(each.value->node());
  bool is_behind = false;
  for (const auto& node : graph.nodes()) {
    segment_[node.get()] = count_ - 1;
    count_ += ends.contains(node.get());
    if (is_behind) last_block_.insert(node.get());
    is_behind |= node.get() == last;
  }
}

}  // namespace smelt
