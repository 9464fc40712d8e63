#include "passes/graph/fusion/fusion_report.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

namespace smelt {

std::string_view name(FuseReason reason) {
  static constexpr std::string_view kNames[] = {"fused",      "phase",  "cycle", "loop_nest", "sweeps",
                                                "single_row", "update", "size",  "view",      "own_step"};
  return kNames[static_cast<size_t>(reason)];
}

namespace {

std::string operation(const Node& node) {
  return node.is(Op::reduce) ? fmt::format("reduce {}", name(node.reduce_op)) : std::string(node.mnemonic());
}

bool is_view_or_part(const Node& node) { return info(node.op()).has(Trait::view); }

class Reporter {
 public:
  Reporter(const Graph& graph, llvm::ArrayRef<std::vector<Node*>> groups, llvm::ArrayRef<RefusedPair> refused,
           FusionReport& report)
      : graph_(graph), groups_(groups), report_(report) {
    for (size_t i = 0; i < groups.size(); ++i)
      for (const Node* node : groups[i]) group_of_[node] = i;
    for (const RefusedPair& pair : refused) refused_[{pair.from, pair.into}] = &pair;
  }

  void run(llvm::ArrayRef<std::string> sources) {
    for (size_t i = 0; i < groups_.size(); ++i) {
      add_kernel(i, sources[i]);
      add_producers(i);
      add_consumers(i);
    }
    add_siblings();
    for (const auto& node : graph_.nodes())
      if (!is_view_or_part(*node))
        for (const auto& result : node->results()) add_readers_through_views(result.get());
  }

 private:
  static int number(size_t group) { return static_cast<int>(group) + 1; }

  bool is_inside(const Node* node, size_t group) const {
    const auto it = group_of_.find(node);
    return it != group_of_.end() && it->second == group;
  }

  int64_t bytes_of(llvm::ArrayRef<const Value*> values) const {
    int64_t bytes = 0;
    for (const Value* value : values)
      bytes += bytes_at_bounds(graph_.module().symbols, element_count(value->shape()), value->dtype());
    return bytes;
  }

  void add_kernel(size_t group, const std::string& source) {
    FusionReport::Kernel kernel{graph_.name, number(group), groups_[group][0]->phase, source, {}};
    llvm::SetVector<const Value*> read, written;
    for (const Node* node : groups_[group]) {
      if (!node->is(Op::broadcast) && !node->is(Op::constant)) kernel.operations.push_back(operation(*node));
      for (const Value* operand : node->operands())
        if (!is_inside(operand->node(), group)) read.insert(operand);
      for (const auto& result : node->results()) {
        const auto is_outside = [&](const Node* user) { return !is_inside(user, group); };
        if (graph_.is_output(result.get()) || llvm::any_of(result->users(), is_outside))
          written.insert(result.get());
      }
    }
    if (kernel.operations.empty()) kernel.operations.push_back(operation(*groups_[group].back()));
    kernel.bytes_read = bytes_of(read.getArrayRef()), kernel.bytes_written = bytes_of(written.getArrayRef());
    report_.kernels.push_back(std::move(kernel));
  }

  // ---- borders

  FusionReport::Border border(FuseReason reason, std::string detail, int64_t bytes) const {
    FusionReport::Border result;
    result.graph = graph_.name, result.reason = reason, result.detail = std::move(detail);
    result.bytes = bytes;
    return result;
  }

  /// Matmuls and others that are no fusions and give the group a value.
  void add_producers(size_t group) {
    llvm::SetVector<const Value*> sources;
    for (const Node* node : groups_[group])
      for (const Value* operand : node->operands()) collect_sources(operand, sources);
    for (const Value* source : sources) {
      if (info(source->node()->op()).has(Trait::leaf)) continue;
      FusionReport::Border found = border(FuseReason::own_step, "", bytes_of({source}));
      found.consumer = number(group), found.other = source->node()->describe();
      report_.borders.push_back(std::move(found));
    }
  }

  /// Collects the values that views read, except those that a group makes.
  void collect_sources(const Value* value, llvm::SetVector<const Value*>& sources) const {
    if (group_of_.contains(value->node()) || sources.contains(value)) return;
    if (!is_view_or_part(*value->node())) return void(sources.insert(value));
    for (const Value* operand : value->node()->operands()) collect_sources(operand, sources);
  }

  /// Values that go from a group to one reader.
  struct Flow {
    llvm::SetVector<const Value*> values;
    std::vector<std::string> views;  // between them
    bool direct = false;
  };
  struct Flows {
    std::map<size_t, Flow> groups;
    llvm::MapVector<const Node*, Flow> others;
  };

  void add_consumers(size_t group) {
    Flows flows;
    for (const Node* node : groups_[group])
      for (const auto& result : node->results()) follow(group, result.get(), result.get(), {}, flows);
    for (const auto& [reader, flow] : flows.groups) add_border(group, reader, flow);
    for (const auto& [reader, flow] : flows.others) {
      FusionReport::Border found = border(FuseReason::own_step, "", bytes_of(flow.values.getArrayRef()));
      found.producer = number(group), found.other = reader->describe();
      report_.borders.push_back(std::move(found));
    }
  }

  /// The readers of `value`, which is `origin` or a view of it.
  void follow(size_t group, const Value* origin, const Value* value, const std::vector<std::string>& views,
              Flows& flows) const {
    for (const Node* user : value->users()) {
      if (is_inside(user, group) || info(user->op()).has(Trait::effect)) continue;
      const auto reader = group_of_.find(user);
      if (reader == group_of_.end() && is_view_or_part(*user)) {
        std::vector<std::string> longer = views;
        longer.push_back(operation(*user));
        follow(group, origin, user->result(), longer, flows);
        continue;
      }
      Flow& flow = reader == group_of_.end() ? flows.others[user] : flows.groups[reader->second];
      flow.values.insert(origin);
      flow.direct |= views.empty();
      if (flow.views.empty()) flow.views = views;
    }
  }

  const RefusedPair* refusal(size_t a, size_t b) const {
    for (const auto& pair : {std::pair(a, b), std::pair(b, a)})
      if (const auto it = refused_.find(pair); it != refused_.end()) return it->second;
    return nullptr;
  }

  void add_border(size_t from, size_t into, const Flow& flow) {
    const RefusedPair* refused = flow.direct ? refusal(from, into) : nullptr;
    const int64_t bytes = bytes_of(flow.values.getArrayRef());
    FusionReport::Border found =
        refused ? border(refused->reason, refused->detail, bytes)
                : border(FuseReason::view, fmt::format("through {}", fmt::join(flow.views, ", ")), bytes);
    found.producer = number(from), found.consumer = number(into);
    flows_between_.insert({from, into});
    report_.borders.push_back(std::move(found));
  }

  /// Pairs that were refused although neither reads the other.
  void add_siblings() {
    for (const auto& [pair, refused] : refused_) {
      if (flows_between_.contains(pair) || flows_between_.contains({pair.second, pair.first})) continue;
      add_sibling(pair.first, pair.second, border(refused->reason, refused->detail, read_by_both(pair)));
    }
  }

  void add_sibling(size_t first, size_t second, FusionReport::Border found) {
    found.producer = number(first), found.consumer = number(second), found.siblings = true;
    report_.borders.push_back(std::move(found));
  }

  int64_t read_by_both(std::pair<size_t, size_t> groups) const {
    llvm::SetVector<const Value*> both;
    for (const Node* node : groups_[groups.first])
      for (const Value* operand : node->operands())
        if (llvm::any_of(operand->users(), [&](const Node* user) { return is_inside(user, groups.second); }))
          both.insert(operand);
    return bytes_of(both.getArrayRef());
  }

  /// A group that reads all of a value, and the views in between.
  struct Reader {
    size_t group;
    std::vector<std::string> views;
  };

  void collect_readers(const Value* value, const std::vector<std::string>& views,
                       std::vector<Reader>& readers) const {
    for (const Node* user : value->users()) {
      if (user->is(Op::reshape) || user->is(Op::transpose)) {
        std::vector<std::string> longer = views;
        longer.push_back(operation(*user));
        collect_readers(user->result(), longer, readers);
      } else if (const auto group = group_of_.find(user);
                 group != group_of_.end() && value->shape() == user->operand(0)->shape() &&
                 llvm::none_of(readers, [&](const Reader& r) { return r.group == group->second; })) {
        readers.push_back({group->second, views});
      }
    }
  }

  /// Adds groups that would be siblings without a view between the value and one of them: fuse compares only
  /// readers of one value, so it has not refused them.
  void add_readers_through_views(const Value* value) {
    std::vector<Reader> readers;
    collect_readers(value, {}, readers);
    for (size_t i = 0; i < readers.size(); ++i)
      for (size_t j = i + 1; j < readers.size(); ++j) add_pair_through_views(value, readers[i], readers[j]);
  }

  void add_pair_through_views(const Value* value, const Reader& a, const Reader& b) {
    const auto& [first, second] = std::minmax(a.group, b.group);
    if (a.views == b.views || groups_[first][0]->phase != groups_[second][0]->phase) return;
    if (flows_between_.contains({first, second}) || flows_between_.contains({second, first})) return;
    if (refusal(first, second) || !told_.insert({first, second}).second) return;
    const auto& views = a.views.empty() ? b.views : a.views;
    add_sibling(
        first, second,
        border(FuseReason::view, fmt::format("through {}", fmt::join(views, ", ")), bytes_of({value})));
  }

  const Graph& graph_;
  llvm::ArrayRef<std::vector<Node*>> groups_;
  FusionReport& report_;
  llvm::DenseMap<const Node*, size_t> group_of_;
  std::map<std::pair<size_t, size_t>, const RefusedPair*> refused_;
  std::set<std::pair<size_t, size_t>> flows_between_;
  std::set<std::pair<size_t, size_t>> told_;  // siblings through views, which may share several values
};

}  // namespace

void report_fusion(const Graph& graph, llvm::ArrayRef<std::vector<Node*>> groups,
                   llvm::ArrayRef<std::string> sources, llvm::ArrayRef<RefusedPair> refused,
                   FusionReport& report) {
  Reporter(graph, groups, refused, report).run(sources);
}

}  // namespace smelt
