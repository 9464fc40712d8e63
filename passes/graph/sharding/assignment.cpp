#include "passes/graph/sharding/assignment.h"

#include <algorithm>
#include <limits>

#include "llvm/ADT/STLExtras.h"
#include "runtime/base/error.h"

namespace smelt {

Sharding replicated(int64_t rank) {
  return {std::vector<std::vector<size_t>>(static_cast<size_t>(rank)), {}};
}

double whole_bytes(const Value& value) {
  const Symbols& symbols = value.node()->graph().module().symbols;
  try {
    return static_cast<double>(bytes_at_bounds(symbols, element_count(value.shape()), value.dtype()));
  } catch (const Error&) {
    return std::numeric_limits<double>::max();
  }
}

namespace {

bool cuts(const Sharding& sharding, size_t axis) {
  return llvm::any_of(sharding.dims, [&](const auto& axes) { return llvm::is_contained(axes, axis); });
}

int64_t parts_of_all(const Sharding& sharding, const Mesh& mesh) {
  int64_t parts = 1;
  for (const auto& axes : sharding.dims) parts *= parts_of(mesh, axes);
  return parts;
}

/// A rank's own memory is about eight times as fast as its link to others.
constexpr double kCopiedByte = 1.0 / 8;
/// Blocks of an all_to_all are packed and unpacked: read and written twice.
constexpr double kExchangedByte = 1 + 4 * kCopiedByte;
/// Addends are written and read whole, where a rank's part of the sum alone would be.
constexpr double kScatteredByte = 1 + 2 * kCopiedByte;

}  // namespace

double moved_bytes(double bytes, const Sharding& from, const Sharding& to, const Mesh& mesh) {
  double local = bytes / static_cast<double>(parts_of_all(from, mesh)), moved = 0;
  for (const size_t axis : from.partial)
    if (!llvm::is_contained(to.partial, axis)) moved += cuts(to, axis) ? kScatteredByte * local : 2 * local;
  for (size_t i = 0; i < from.dims.size(); ++i)
    for (size_t j = from.dims[i].size(); j-- > 0;) {
      const size_t axis = from.dims[i][j];
      if (j < to.dims[i].size() && to.dims[i][j] == axis) continue;
      const bool is_exchanged = cuts(to, axis);
      if (!is_exchanged) local *= static_cast<double>(mesh.axes[axis].size);
      moved += is_exchanged ? kExchangedByte * local : local;
    }
  return moved;
}

Sharding Assignment::sharding(const DimFactors& dims) const {
  Sharding result;
  for (const auto& dim : dims) {
    const int leads = factors->leading(dim);
    result.dims.push_back(leads < 0 ? std::vector<size_t>{} : axes[static_cast<size_t>(leads)]);
  }
  return result;
}

Sharding Assignment::operand(unsigned i) const { return sharding(factors->operands[i]); }

Sharding Assignment::result(unsigned i) const {
  Sharding made = sharding(factors->results[i]);
  for (size_t f = 0; f < axes.size(); ++f) {
    const auto kind = factors->factors[f].kind;
    if (kind != Factor::Kind::summed && kind != Factor::Kind::looked_up) continue;
    for (const size_t axis : axes[f])
      if (!cuts(made, axis)) made.partial.push_back(axis);
  }
  llvm::sort(made.partial);
  return made;
}

bool Assignment::uses(size_t axis) const {
  return llvm::any_of(axes, [&](const auto& list) { return llvm::is_contained(list, axis); });
}

namespace {

/// Ranks that share a parameter compute with their own part: other operands move to it.
constexpr double kStays = 1e6;

class NodeAssigner {
 public:
  NodeAssigner(const Node& node, std::shared_ptr<const OpFactors> factors, const KnownShardings& known,
               AxisAssigner& sizes)
      : node_(node), known_(known), all_(sizes), mesh_(node.graph().module().mesh()) {
    made_.axes.resize(factors->factors.size());
    made_.factors = std::move(factors);
    for (const Value* operand : node.operands())
      bytes_of_operands_.push_back(sizes.bytes(*operand) * (operand->node()->is(Op::parameter) ? kStays : 1));
    for (const auto& result : node.results()) bytes_of_results_.push_back(sizes.bytes(*result));
  }

  void run() {
    for (size_t axis = 0; axis < mesh_.axes.size(); ++axis) assign(axis);
  }
  Assignment take() { return std::move(made_); }

  /// A move is a message, however short.
  double cost() const {
    double bytes = 0;
    const auto add = [&](double moved) { bytes += moved > 0 ? moved + kLatencyBytes : 0; };
    for (unsigned i = 0; i < known_.operands.size(); ++i)
      if (const Sharding* sharding = known_.operands[i])
        if (const Sharding needed = made_.operand(i); !all_.is_there(node_, *node_.operand(i), needed))
          add(moved_bytes(bytes_of_operands_[i], {sharding->dims, {}}, needed, mesh_));
    for (unsigned i = 0; i < known_.results.size(); ++i) {
      const Sharding made = made_.result(i);
      const Sharding wanted =
          known_.results[i] ? Sharding{known_.results[i]->dims, {}} : Sharding{made.dims, {}};
      add(moved_bytes(bytes_of_results_[i], made, wanted, mesh_));
    }
    return bytes;
  }

 private:
  void assign(size_t axis) {
    std::vector<std::vector<size_t>> best = made_.axes;
    double least = std::numeric_limits<double>::infinity();
    for (size_t f = 0; f < made_.axes.size(); ++f) {
      const auto list = list_with(axis, f);
      if (list.empty() || !made_.factors->can_cut(static_cast<int>(f), parts_of(mesh_, list))) continue;
      const auto before = std::exchange(made_.axes[f], list);
      if (const double cost = this->cost(); cost < least) least = cost, best = made_.axes;
      made_.axes[f] = before;
    }
    made_.axes = std::move(best);
  }

  /// The factor's axes with this one in its place; empty where no value has the axis there.
  std::vector<size_t> list_with(size_t axis, size_t factor) const {
    std::vector<size_t> order;
    double most = -1;
    each_dim([&](const Sharding& sharding, size_t dim, llvm::ArrayRef<int> factors, double bytes) {
      if (made_.factors->leading(factors) != static_cast<int>(factor)) return;
      if (!llvm::is_contained(sharding.dims[dim], axis) || bytes <= most) return;
      order = sharding.dims[dim], most = bytes;
    });
    if (order.empty()) return {};
    std::vector<size_t> list = made_.axes[factor];
    list.push_back(axis);
    const auto place = [&](size_t a) { return llvm::find(order, a) - order.begin(); };
    std::stable_sort(list.begin(), list.end(), [&](size_t a, size_t b) { return place(a) < place(b); });
    return list;
  }

  template <typename F>
  void each_dim(F f) const {
    for (size_t i = 0; i < known_.operands.size(); ++i)
      if (const Sharding* sharding = known_.operands[i])
        for (size_t d = 0; d < sharding->dims.size(); ++d)
          f(*sharding, d, made_.factors->operands[i][d], bytes_of_operands_[i]);
    for (size_t i = 0; i < known_.results.size(); ++i)
      if (const Sharding* sharding = known_.results[i])
        for (size_t d = 0; d < sharding->dims.size(); ++d)
          f(*sharding, d, made_.factors->results[i][d], bytes_of_results_[i]);
  }

  const Node& node_;
  const KnownShardings& known_;
  const AxisAssigner& all_;
  const Mesh& mesh_;
  Assignment made_;
  std::vector<double> bytes_of_operands_, bytes_of_results_;
};

}  // namespace

double AxisAssigner::bytes(const Value& value) {
  const auto [known, fresh] = bytes_.try_emplace(&value, 0);
  if (fresh) known->second = whole_bytes(value);
  return known->second;
}

void AxisAssigner::add_move(const Value& value, Sharding to, Phase phase, const Node* by) {
  moves_[&value].push_back({std::move(to), phase, by});
}

bool AxisAssigner::is_there(const Node& node, const Value& value, const Sharding& sharding) const {
  const auto moves = moves_.find(&value);
  return moves != moves_.end() && llvm::any_of(moves->second, [&](const Move& move) {
           return move.by != &node && move.phase == node.phase && move.to == sharding;
         });
}

Assignment AxisAssigner::assign(const Node& node, const KnownShardings& known, double* cost) {
  std::shared_ptr<const OpFactors>& factors = factors_[&node];
  if (!factors) factors = std::make_shared<const OpFactors>(factors_of(node));
  NodeAssigner assigner(node, factors, known, *this);
  assigner.run();
  if (cost) *cost = assigner.cost();
  return assigner.take();
}

}  // namespace smelt
