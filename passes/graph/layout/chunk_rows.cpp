#include "passes/graph/layout/chunk_rows.h"

#include <fmt/format.h>

#include <charconv>

#include "ir/analysis/uses.h"
#include "ir/graph/builder.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/analysis.h"
#include "passes/expressions.h"
#include "passes/graph/layout/row_region.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

constexpr int64_t kMostChunks = 64, kEvenRows = 16;

/// Chunks: n chunks of equal numbers of rows; the last has the remaining rows.
struct Chunks {
  Dim all, each;
  int64_t count = 1;

  Chunks(Dim rows, int64_t bound, int64_t most) : all(std::move(rows)) {
    count = std::min((bound + most - 1) / most, kMostChunks);
    const int64_t even = most % kEvenRows == 0 ? kEvenRows : 1, divisor = even * count;
    each = ceil_div(all - (divisor - 1), divisor) * even;  // the quotient, rounded down
  }
  Dim begin(int64_t chunk) const { return each * chunk; }
  Dim length(int64_t chunk) const { return chunk + 1 < count ? each : all - begin(chunk); }
};

std::vector<int64_t> shifted(std::vector<int64_t> axes, int64_t by) {
  for (int64_t& axis : axes) axis += by;
  return axes;
}

class RowChunker {
 public:
  RowChunker(Graph& graph, const RowRegion& region, const Chunks& chunks)
      : graph_(graph),
        region_(region),
        chunks_(chunks),
        place_(graph.next(region.members.back().node)),
        b_(graph, place_),
        front_(graph) {}

  void run() {
    const std::vector<Value*> outputs = row_outputs(graph_, region_);
    Node* last = graph_.previous(place_);
    for (chunk_ = 0; chunk_ < chunks_.count; ++chunk_) {
      inside_.clear(), outside_.clear();
      for (const RowRegion::Member& member : region_.members) {
        emit(member);
        if (member.role == RowRole::seed && chunk_ == 0) front_.insert_before(graph_.next(last));
      }
      for (Value* output : outputs) parts_[output].push_back(inside_.lookup(output));
    }
    for (const auto& [value, parts] : parts_) graph_.replace_all_uses(value, whole(*value, parts));
    for (const auto& [value, sum] : sums_) graph_.replace_all_uses(value, sum);
    move_behind();
  }

 private:
  /// Moves the nodes between the members to after the last chunk.
  void move_behind() {
    llvm::DenseSet<const Node*> later;
    for (const Node* node = place_; node; node = graph_.next(node)) later.insert(node);
    for (Node* node : region_.behind)
      if (!later.contains(node)) graph_.move_before(node, place_);
  }

  // ---- members

  void emit(const RowRegion::Member& member) {
    Node& node = *member.node;
    b_.set_source(node.source);
    if (member.role == RowRole::rowwise) return rowwise(node);
    Value* result = node.result();
    if (member.role == RowRole::sum)
      sums_[result] = node.is(Op::matmul) ? summed_product(node) : summed_rows(node);
    else if (Value* part = product(node); member.role == RowRole::seed)
      inside_[result] = part;
    else
      parts_[result].push_back(part);
  }

  void rowwise(const Node& node) {
    if (node.is(Op::reshape)) return void(inside_[node.result()] = chunk(node.operand(0), 0));
    const int64_t axes = region_.row_axes.lookup(node.result());
    llvm::SmallVector<Value*, 3> operands;
    for (Value* operand : node.operands()) operands.push_back(chunk(operand, axes));
    const Node& twin = *clone(node, operands, axes);
    for (unsigned i = 0; i < node.result_count(); ++i) inside_[node.result(i)] = twin.result(i);
  }

  Node* clone(const Node& node, llvm::ArrayRef<Value*> operands, int64_t axes) {
    Node* twin = graph_.clone(node, operands, place_);
    twin->phase = Phase::forward;
    if (node.is(Op::reduce)) twin->set(attr::axes, shifted(node.get(attr::axes), 1 - axes));
    if (node.is(Op::broadcast)) twin->set(attr::axes, std::vector<int64_t>{0});
    for (const auto& result : twin->results()) {
      result->type.shape = chunk_shape(*result, axes);
      result->sharding.reset();  // of the whole shape; after partition no pass reads it
      result->name.clear();
    }
    return twin;
  }

  /// A matmul over the rows of the chunk.
  Value* product(const Node& matmul) { return multiplied(matmul, nullptr); }

  Value* summed_product(const Node& matmul) { return multiplied(matmul, sums_.lookup(matmul.result())); }

  Value* multiplied(const Node& matmul, Value* sum) {
    const std::string rows = rows_of(matmul);
    const MatmulSpec spec = parse_matmul_spec(matmul.get(attr::spec));
    const auto operand = [&](unsigned i) {
      const bool has_rows = (i == 0 ? spec.a : spec.b).starts_with(rows);
      return has_rows ? factor(matmul.operand(i), static_cast<int64_t>(rows.size())) : matmul.operand(i);
    };
    Value *a = operand(0), *c = operand(1);
    if (!sum) return b_.matmul(a, c, flat_spec(matmul, rows));
    return b_.matmul(a, c, flat_spec(matmul, rows), {sum}, [&](GraphBuilder& b, llvm::ArrayRef<Value*> in) {
      return b.convert(b.add(in[0], b.convert(in[1], DType::f32)), sum->dtype());
    });
  }

  std::string rows_of(const Node& matmul) const {
    for (const Value* operand : matmul.operands())
      if (region_.has(operand)) return row_letters(matmul, operand, region_.row_axes.lookup(operand));
    const Value* result = matmul.result();  // the seed's
    const auto axes = static_cast<size_t>(region_.row_axes.lookup(result));
    return parse_matmul_spec(matmul.get(attr::spec)).out.substr(0, axes);
  }

  Value* summed_rows(const Node& reduce) {
    const int64_t axes = region_.row_axes.lookup(reduce.operand(0));
    const bool all = static_cast<int64_t>(reduce.get(attr::axes).size()) > axes;
    Value* from = chunk(reduce.operand(0), axes);
    Value* sum = b_.sum(from, leading_axes(all ? from->rank() : 1));
    Value* before = sums_.lookup(reduce.result());
    return before ? b_.add(before, sum) : sum;
  }

  Value* whole(const Value& value, llvm::ArrayRef<Value*> parts) {
    b_.set_source(value.node()->source);
    return b_.reshape(b_.concat(parts, 0), value.shape());
  }

  // ---- chunks of values

  Shape chunk_shape(const Value& value, int64_t axes) const {
    return with_rows(chunks_.length(chunk_), value, axes);
  }
  static Shape with_rows(Dim rows, const Value& value, int64_t axes) {
    Shape shape = {std::move(rows)};
    shape.insert(shape.end(), value.shape().begin() + axes, value.shape().end());
    return shape;
  }

  Value* chunk(Value* value, int64_t axes) {
    if (Value* known = inside_.lookup(value)) return known;
    if (Value* known = outside_.lookup({value, axes})) return known;
    Value* made = outside_chunk(value, axes);
    return outside_[{value, axes}] = made;
  }

  Value* outside_chunk(Value* value, int64_t axes) {
    const Type type = {value->dtype(), chunk_shape(*value, axes)};
    switch (row_source(value, axes)) {
      case RowSource::computed: {
        llvm::SmallVector<Value*, 3> operands;
        for (Value* operand : value->node()->operands()) operands.push_back(chunk(operand, axes));
        return clone(*value->node(), operands, axes)->result();
      }
      case RowSource::repeated:
        return repeated(*value, axes, type);
      case RowSource::column:
        return front_.iota(type, value->node()->get(attr::axis) - axes + 1);
      default:
        return sliced(value, axes);
    }
  }

  /// Returns the chunk of a matmul's factor, which is in memory.
  Value* factor(Value* value, int64_t axes) {
    Value* known = inside_.lookup(value);
    return known ? known : sliced(value, axes);
  }

  Value* sliced(Value* value, int64_t axes) {
    return b_.slice(flat(value, axes), 0, chunks_.begin(chunk_), chunks_.length(chunk_));
  }

  Value* repeated(const Value& value, int64_t axes, const Type& type) {
    if (const auto number = splat(&value)) return front_.constant(*number, type);
    const Node& node = *value.node();
    Value* source = node.operand(0);
    const auto& dims = node.get(attr::axes);
    if (dims.empty() || dims[0] >= axes) return front_.broadcast(source, shifted(dims, 1 - axes), type.shape);
    if (source->rank() != axes)
      source = b_.broadcast(source, dims, Shape(value.shape().begin(), value.shape().begin() + axes));
    return b_.broadcast(chunk(source, axes), {0}, type.shape);
  }

  /// Flattens all row dims into one.
  Value* flat(Value* value, int64_t axes) {
    Value*& known = flat_[{value, axes}];
    if (!known) known = b_.reshape(value, with_rows(chunks_.all, *value, axes));
    return known;
  }

  using Key = std::pair<Value*, int64_t>;  // with its row axes

  Graph& graph_;
  const RowRegion& region_;
  const Chunks& chunks_;
  Node* place_;  // after the last member
  GraphBuilder b_;
  /// Builder for nodes that chunks of one length share, before all chunks: their kernels then list the same
  /// nodes in the same order, and are one kernel.
  GraphBuilder front_;
  int64_t chunk_ = 0;
  llvm::DenseMap<const Value*, Value*> inside_;  // chunks of the region's values
  llvm::DenseMap<Key, Value*> outside_, flat_;
  llvm::MapVector<Value*, std::vector<Value*>> parts_;
  llvm::MapVector<Value*, Value*> sums_;
};

/// Moves the nodes that a chunk needs before it, for any phase.
void move_to_forward(Graph& graph) {
  for (const auto& node : llvm::reverse(graph.nodes()))
    if (in_forward(*node))
      for (const Value* operand : node->operands()) operand->node()->phase = Phase::forward;
}

class RowChunking {
 public:
  RowChunking(Graph& graph, const ChunkRowsOptions& options) : graph_(graph), options_(options) {}

  bool run() {
    bool changed = false;
    for (auto left = unseen(); !left.empty(); left = unseen())
      changed |= llvm::any_of(left, [&](Node* matmul) { return visit(*matmul); });
    return changed;
  }

 private:
  /// Matmuls that have not been visited and were not made here.
  std::vector<Node*> unseen() const {
    std::vector<Node*> matmuls = nodes_of(graph_, Op::matmul);
    llvm::erase_if(matmuls, [&](const Node* matmul) { return seen_.contains(matmul); });
    return matmuls;
  }

  bool visit(Node& matmul) {
    seen_.insert(&matmul);
    const Symbols& symbols = graph_.module().symbols;
    const Dim elements = element_count(matmul.result()->shape());
    if (bytes_at_bounds(symbols, elements, options_.storage) < options_.least_mib << 20) return false;
    const std::optional<RowRegion> region = find_row_region(graph_, matmul);
    if (!region || products(*region) >= symbols.upper(elements)) return false;
    const Chunks chunks(region->rows, symbols.upper(region->rows), most_rows(*region));
    if (chunks.count < 2) return false;
    if (options_.log) options_.log->push_back(sentence(matmul, *region, chunks));
    const std::vector<Node*> left = unseen();
    RowChunker(graph_, *region, chunks).run();
    for (Node* made : unseen())
      if (!llvm::is_contained(left, made)) seen_.insert(made);
    graph_.prune();
    move_to_forward(graph_);
    return true;
  }

  /// As many as the options allow whose part of the matmul's result is not too large.
  int64_t most_rows(const RowRegion& region) const {
    const int64_t row =
        bytes_at_bounds(graph_.module().symbols, element_count(region.columns), options_.storage);
    const int64_t fitting = (options_.most_mib << 20) / row / kEvenRows * kEvenRows;
    return std::min(options_.rows, std::max({int64_t{1}, options_.least_rows, fitting}));
  }

  /// Elements for all rows that leave the region: more of them than stay in it would save nothing.
  int64_t products(const RowRegion& region) const {
    int64_t sum = 0;
    for (const RowRegion::Member& member : region.members)
      if (member.role == RowRole::product)
        sum += graph_.module().symbols.upper(element_count(member.node->result()->shape()));
    return sum;
  }

  std::string sentence(const Node& matmul, const RowRegion& region, const Chunks& chunks) const {
    return fmt::format("@{}: {}: {} rows of {} columns in {} chunks of {}", graph_.name, matmul.describe(),
                       region.rows.str(), element_count(region.columns).str(), chunks.count,
                       chunks.each.str());
  }

  Graph& graph_;
  const ChunkRowsOptions& options_;
  llvm::DenseSet<const Node*> seen_;
};

}  // namespace

bool chunk_rows(Graph& graph, const ChunkRowsOptions& options) {
  return options.rows > 0 && RowChunking(graph, options).run();
}

}  // namespace smelt
