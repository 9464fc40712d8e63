#include "passes/graph/autodiff/rematerialize.h"

#include <cmath>
#include <map>

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/graph/autodiff/min_cut.h"
#include "passes/graph/autodiff/trunk.h"
#include "passes/graph/reductions/softmax_statistic.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

// A value that a kernel would store only because of the cut costs a quarter more than one that is in memory
// anyway.
struct Weights {
  int64_t in_memory, extra;
};
constexpr Weights kTraffic = {4, 5}, kBytes = {1, 1};

bool is_free(const Value* value) {
  const Node* node = value->node();
  return node->is(Op::parameter) || node->is(Op::input) || node->is(Op::state) ||
         (node->is(Op::constant) && !node->has(attr::value));
}

/// A parameter or state of which ranks have parts, put together: backward puts it together again.
bool is_gathered(const Node& node) {
  if (!node.is(Op::collective) || node.get(attr::kind) != "all_gather") return false;
  const Node& source = *viewed(node.operand(0))->node();
  return source.is(Op::parameter) || source.is(Op::state) || is_gathered(source);
}

/// Returns whether both put together the same parts in the same way.
bool is_same_gather(const Node& a, const Node& b) {
  if (a.op() != b.op() || !(a.attributes == b.attributes)) return false;
  return llvm::equal(a.operands(), b.operands(), [](const Value* x, const Value* y) {
    return x == y || (x->type == y->type && is_same_gather(*x->node(), *y->node()));
  });
}

/// Comes from nothing, or from what is in memory anyway: costs none wherever it is.
bool is_generated(const Node& node) {
  return node.is(Op::constant) || node.is(Op::iota) || node.is(Op::random) || is_gathered(node);
}

bool is_cheap_op(const Node& node) {
  return node.is(Op::pointwise) || node.is(Op::convert) || is_generated(node) || is_view(node) ||
         (node.is(Op::reduce) && info(node.reduce_op).samples);
}

/// Returns whether it gives the same again, on its rank alone.
bool may_run_again(const Node& node) {
  return !info(node.op()).has(Trait::effect) && !node.is(Op::collective);
}

constexpr double kGib = 1 << 30, kMostPrice = 1e15;  // bytes

class Rematerializer {
 public:
  Rematerializer(Graph& graph, const RematerializeOptions& options)
      : graph_(graph),
        options_(options),
        time_{rates_of(options.target), options.storage, options.tf32},
        report_(options.report),
        numbers_(graph),
        emit_(graph, numbers_) {}

  bool run() {
    find_late_nodes();
    find_needs();
    if (needs_.empty()) return false;
    for (const auto& node : graph_.nodes()) order_.push_back(node.get());
    known_.insert(order_.begin(), order_.end());
    find_gathers();
    find_statistics();
    find_stored();
    if (options_.policy.has_price()) find_segments();
    const int64_t before = kept_bytes();
    if (report_) report_->bytes_before = before;
    if (choose(kTraffic) > before) choose(kBytes);
    const bool changed = clone_needs();
    emit_.discard_unused();
    if (changed) graph_.sort();
    if (report_) finish_report();
    return changed;
  }

 private:
  /// Finds the nodes of backward and all nodes after them.
  void find_late_nodes() {
    for (const auto& node : graph_.nodes()) {
      const bool behind = llvm::any_of(node->operands(), [&](const Value* v) { return is_late(v); });
      if (behind || !in_forward(*node)) late_.insert(node.get());
    }
  }
  bool is_late(const Value* value) const { return late_.contains(value->node()); }

  void find_needs() {
    needs_.clear();
    for (const auto& node : graph_.nodes()) {
      if (!is_late(node.get())) continue;
      for (Value* operand : node->operands())
        if (!is_late(operand) && !is_free(operand)) needs_.insert({operand, node.get()});
    }
  }
  bool is_late(const Node* node) const { return late_.contains(node); }

  int64_t bytes(const Value* value) {
    const int64_t count = graph_.module().symbols.upper(element_count(value->shape()));
    return count * size_of(value->dtype());
  }

  int64_t kept_bytes() {
    llvm::DenseSet<const Value*> counted;
    int64_t total = 0;
    for (const auto& [value, reader] : needs_) {
      const Value* kept = viewed(value);
      if (is_free(kept) || is_generated(*kept->node()) || !counted.insert(kept).second) continue;
      total += bytes(kept);
    }
    return total;
  }

  /// Replaces values that forward gathers by those that backward gathers anyway.
  void find_gathers() {
    std::vector<Node*> early, late;
    for (const auto& node : graph_.nodes())
      if (is_gathered(*node)) (is_late(node.get()) ? late : early).push_back(node.get());
    for (Node* gather : early)
      for (Node* again : late)
        if (in_backward(*again) && is_same_gather(*gather, *again))
          clones_[{gather, Phase::backward}] = again;
  }

  /// Finds the nodes that could compute probabilities of forward softmaxes in backward.
  void find_statistics() {
    std::vector<Node*> pairs;
    for (const auto& node : graph_.nodes())
      if (node->is(ReduceOp::max_sumexp) && !is_late(node.get())) pairs.push_back(node.get());
    Node* place = needs_.begin()->second;
    for (const auto& [value, reader] : needs_)
      if (in_backward(*reader)) place = reader;
    if (!in_backward(*place)) return;
    for (Node* pair : pairs) {
      const Softmax softmax = find_softmax(*pair);
      if (used_otherwise(softmax)) continue;
      for (Node* probability : softmax.probabilities)
        if (!is_late(probability))
          stand_ins_[probability->result()] = probability_from_statistics(emit_, softmax, *place);
    }
    mark_new_nodes();
  }
  void mark_new_nodes() {
    for (const auto& [probability, q] : stand_ins_) mark_late(q);
  }
  void mark_late(Value* value) {
    if (in_forward(*value->node()) || !late_.insert(value->node()).second) return;
    for (Value* operand : value->node()->operands()) mark_late(operand);
  }

  /// Values that the forward phase writes to memory anyway: read on the far side of a matmul or the like.
  void find_stored() {
    llvm::DenseMap<const Node*, int> barriers, matmuls;  // on the longest way to a node
    for (const auto& node : graph_.nodes()) {
      int most = 0, most_matmuls = 0;
      for (const Value* operand : node->operands()) {
        most = std::max(most, barriers.lookup(operand->node()));
        most_matmuls = std::max(most_matmuls, matmuls.lookup(operand->node()));
      }
      barriers[node.get()] = most + is_barrier(*node);
      matmuls[node.get()] = most_matmuls + node->is(Op::matmul);
      if (is_late(node.get())) continue;
      for (const Value* operand : node->operands()) {
        if (barriers[node.get()] > barriers.lookup(operand->node())) stored_.insert(viewed(operand));
        const int behind = matmuls.lookup(operand->node());
        if (behind > 0 && most_matmuls > behind) trunk_.insert(viewed(operand));
      }
    }
  }

  /// Finds the values that forward reads after their own segment.
  void find_segments() {
    const auto forward = [&](const Node& node) { return !is_late(&node); };
    segments_.emplace(graph_, forward, options_.policy.layers);
    const double share = options_.policy.share * static_cast<double>(segments_->count());
    priced_segments_ = static_cast<int64_t>(std::ceil(share));
    for (const auto& node : graph_.nodes()) {
      if (is_late(node.get()) || is_view(*node)) continue;
      for (const Value* operand : node->operands()) {
        const Value* source = viewed(operand);
        if (segments_->of(*source->node()) < segments_->of(*node)) crossing_.insert(source);
      }
    }
  }

  double seconds_per_gib(const Node& node) const {
    const bool is_first = segments_->of(node) < priced_segments_;
    return is_first ? options_.policy.seconds_per_gib : options_.policy.rest;
  }

  /// Returns whether the policy has a price for values that are not cheap.
  bool has_price(const Value* value) const {
    const Node& node = *value->node();
    if (!segments_ || is_late(value) || crossing_.contains(value) || !may_run_again(node)) return false;
    return !segments_->is_last_block(node) && seconds_per_gib(node) > 0 && !is_tested(value);
  }

  /// Returns the price of recomputing a node, in the unit of cost(): the bytes that its time is worth, at the
  /// width of the graph's floats.
  int64_t price(const Node& node) const {
    const double width = static_cast<double>(size_of(DType::f32)) / size_of(time_.storage);
    const double bytes = width * kGib * node_seconds(node, time_) / seconds_per_gib(node);
    return weights_.in_memory * static_cast<int64_t>(std::min(bytes, kMostPrice));
  }

  llvm::ArrayRef<Value*> sources(Value* value) {
    if (auto it = stand_ins_.find(value); it != stand_ins_.end()) return it->second;
    return value->node()->operands();
  }

  int64_t cost(Value* value) {
    const Node& node = *value->node();
    if (is_late(value) || is_view(node)) return MinCut::kInfinite;
    const bool in_memory = stored_.contains(value) || !info(node.op()).has(Trait::fusable);
    return bytes(value) * (in_memory ? weights_.in_memory : weights_.extra);
  }

  /// May be computed again. What is tested for equality may not: kernels contract differently.
  bool is_cheap(Value* value) const {
    if (is_late(value)) return true;
    if (!is_cheap_op(*value->node()) || trunk_.contains(value)) return false;
    return is_view(*value->node()) || !is_tested(value);
  }
  bool is_tested(const Value* value) const {
    return is_matched(value, [this](const Node& user) { return is_late(&user); });
  }

  /// The vertex of a value and of all that it could be computed from; -1 for what costs nothing.
  int vertex(Value* value) {
    if (is_free(value) || is_generated(*value->node())) return -1;
    if (auto it = vertices_.find(value); it != vertices_.end()) return it->second;
    const int v = cut_.add_vertex(cost(value));
    vertices_.insert({value, v});
    if (is_cheap(value))
      connect(sources(value), v);
    else if (has_price(value))
      cut_.add_edge(run_vertex(*value->node()), v);
    else
      cut_.add_source(v);
    return v;
  }
  void connect(llvm::ArrayRef<Value*> sources, int to) {
    for (Value* source : sources)
      if (const int s = vertex(source); s >= 0) cut_.add_edge(s, to);
  }

  /// Returns the vertex for running a node, shared by all its results: on the side of the sinks it costs its
  /// price.
  int run_vertex(const Node& node) {
    if (auto it = runs_.find(&node); it != runs_.end()) return it->second;
    const int v = runs_[&node] = cut_.add_vertex(MinCut::kInfinite);
    cut_.add_source(v, price(node));
    connect(node.operands(), v);
    return v;
  }

  /// Fills kept_; returns its bytes.
  int64_t choose(Weights weights) {
    weights_ = weights;
    cut_ = {};
    vertices_.clear();
    runs_.clear();
    kept_.clear();
    for (const auto& [value, reader] : needs_)
      if (const int v = vertex(value); v >= 0) cut_.add_sink(v);
    const std::vector<bool> in_cut = cut_.solve();
    int64_t total = 0;
    for (const auto& [value, v] : vertices_) {
      if (in_cut[v]) total += bytes(value);
      if (in_cut[v] || !(is_cheap(value) || has_price(value))) kept_.insert(value);
    }
    return total;
  }

  /// Read in place: kept, or a view of what is.
  bool stays(Value* value) {
    if (is_free(value) || kept_.contains(value)) return true;
    const Node& node = *value->node();
    return is_view(node) && !node.is(Op::broadcast) && stays(node.operand(0));
  }

  bool clone_needs() {
    bool changed = false;
    for (Node* node : order_)
      if (is_late(node)) changed |= clone_operands(*node);
    return changed;
  }

  bool clone_operands(Node& node) {
    bool changed = false;
    for (unsigned i = 0; i < node.operands().size(); ++i) {
      Value* operand = node.operand(i);
      Value* again = is_late(operand) ? operand : recomputed(operand, node);
      if (again == operand) continue;
      node.set_operand(i, again);
      changed = true;
    }
    return changed;
  }

  /// Stand-ins made for this run read clones as soon as they have readers.
  Value* adopted(Value* value) {
    if (!is_late(value) || !known_.insert(value->node()).second) return value;
    for (Value* operand : value->node()->operands()) adopted(operand);
    clone_operands(*value->node());
    return value;
  }

  Value* recomputed(Value* value, Node& reader) {
    if (is_late(value) || stays(value)) return value;
    if (auto it = stand_ins_.find(value); it != stand_ins_.end()) return adopted(it->second);
    const auto key = std::pair(value->node(), reader.phase);
    if (auto it = clones_.find(key); it != clones_.end()) return it->second->result(value->index());
    llvm::SmallVector<Value*, 3> operands;
    for (Value* operand : value->node()->operands()) operands.push_back(recomputed(operand, reader));
    Node* copy = graph_.clone(*value->node(), operands, &reader);
    copy->phase = in_forward(reader) ? Phase::backward : reader.phase;
    copy->anchored = true;
    for (const auto& result : copy->results()) result->name.clear();
    if (report_ && !is_generated(*copy))
      report_->recomputed.push_back({value->node()->describe(), bytes(value)});
    return (clones_[key] = copy)->result(value->index());
  }

  void finish_report() {
    find_late_nodes();
    find_needs();
    report_->bytes_after = kept_bytes();
    llvm::DenseSet<const Value*> listed;
    for (const auto& [value, reader] : needs_)
      if (const Value* kept = viewed(value);
          !is_free(kept) && !is_generated(*kept->node()) && listed.insert(kept).second)
        report_->kept.push_back({kept->node()->describe(), bytes(kept)});
  }

  Graph& graph_;
  const RematerializeOptions& options_;
  const NodeSecondsOptions time_;
  RematerializeReport* report_;
  ValueNumbers numbers_;
  RowEmitter emit_;
  llvm::DenseSet<const Node*> late_;
  llvm::MapVector<Value*, Node*> needs_;  // forward values that late nodes read, and the first that does
  llvm::DenseMap<Value*, Value*> stand_ins_;
  llvm::DenseSet<const Value*> stored_, kept_;
  llvm::DenseSet<const Value*> trunk_;  // stored for a reader after further matmuls, as a residual stream is
  Weights weights_ = kTraffic;
  MinCut cut_;
  llvm::MapVector<Value*, int> vertices_;
  llvm::DenseMap<const Node*, int> runs_;  // vertices of what has a price
  std::optional<TrunkSegments> segments_;  // where the policy has a price, which holds in the first ones
  int64_t priced_segments_ = 0;
  llvm::DenseSet<const Value*> crossing_;  // read in a later segment than their own
  std::vector<Node*> order_;
  llvm::DenseSet<const Node*> known_;                // nodes of the graph as it came, and adopted stand-ins
  std::map<std::pair<Node*, Phase>, Node*> clones_;  // by the phase of their readers
};

}  // namespace

bool rematerialize(Graph& graph, const RematerializeOptions& options) {
  return Rematerializer(graph, options).run();
}

}  // namespace smelt
