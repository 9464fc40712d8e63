#include "passes/overwrites.h"

#include "ir/iteration_space.h"
#include "ir/view.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/analysis.h"

namespace smelt {
namespace {

/// The value that views look at.
const Value& behind_views(const Value& value) {
  const Value* behind = &value;
  while (is_view(*behind->node())) behind = behind->node()->operand(0);
  return *behind;
}

/// Where all of what views look at is, if `value` is at `place`; nothing where no strides express it.
std::optional<Layout> place_behind_views(const Value& value, std::optional<Layout> place) {
  for (const Node* view = value.node(); place && is_view(*view); view = view->operand(0)->node()) {
    if (view->is(Op::slice))
      place->offset = place->offset - view->dim_attr("begin") * place->strides[view->int_attr("axis")];
    else
      place = operand_layout(*view, *place);
  }
  return place;
}

bool is_old_content(const Value& value) {
  const Node& node = *behind_views(value).node();
  return node.is(Op::state) || node.is(Op::parameter);
}

/// One sweep, whose pointwise operations alone take the operand.
bool fusion_reads_elementwise(const Node& fusion, const Value& value) {
  const IterationSpaceResult space = iteration_space(*fusion.body);
  if (!space.space || space.space->levels > 1) return false;
  for (auto [operand, input] : llvm::zip(fusion.operands(), fusion.body->inputs()))
    if (operand == &value)
      for (const Node* user : input->result()->users())
        if (!user->is(Op::pointwise) && !user->is(Op::convert)) return false;
  return true;
}

/// The operand that the node adds to, element by element, where it lies.
int added_operand(const Node& node) {
  if (node.is(Op::scatter_add)) return 0;
  return node.is(Op::matmul) && node.operands().size() == 3 ? 2 : -1;
}

bool reads_elementwise(const Node& node, const Value& value) {
  if (node.is(Op::fusion)) return fusion_reads_elementwise(node, value);
  if (node.is(Op::pack)) return true;
  for (auto [i, operand] : llvm::enumerate(node.operands()))
    if (operand == &value && static_cast<int>(i) != added_operand(node)) return false;
  return added_operand(node) >= 0 && value.shape() == node.result()->shape();
}

}  // namespace

/// The nodes that compute a pack's parts, or the one value. Nobody makes inputs and constants, which are
/// copied in the end, nor content of the state that stays where it is: `taker` reads it there.
class Overwrites::Makers {
 public:
  Makers(const Graph& graph, const Value& value, const Layout& place) : taker_(*value.node()) {
    places_[&taker_] = {};
    if (!taker_.is(Op::pack)) {
      add(value, place);
      return;
    }
    const State& state = *graph.module().find_state(taker_.string_attr("state"));
    for (auto [part, segment] : llvm::zip(taker_.operands(), state.segments))
      add(*part, {place.buffer, place.offset + segment.offset, dense_strides(part->shape())});
  }

  const Places& places() const { return places_; }
  /// Some of the old content goes elsewhere.
  bool move_content() const { return move_content_; }

 private:
  void add(const Value& value, const Layout& place) {
    const Node& maker = *behind_views(value).node();
    if (is_old_content(value)) {
      places_[&taker_].push_back(place);
      move_content_ |= value.layout && value.layout->buffer == place.buffer && *value.layout != place;
    } else if (!info(maker.op()).has(Trait::leaf)) {
      std::vector<Layout>& known = places_[&maker];
      if (const auto behind = place_behind_views(value, place)) known.push_back(*behind);
    }
  }

  const Node& taker_;
  Places places_;
  bool move_content_ = false;
};

bool Overwrites::grant(const Value& value, const Layout& place) {
  if (info(behind_views(value).node()->op()).has(Trait::leaf)) return false;
  const std::vector<StateRead> reads = reads_of_state(graph_, place.buffer);
  const Makers makers(graph_, value, place);
  const Places& places = makers.places();
  if (makers.move_content()) return false;
  const auto is_concat = [](const auto& maker) { return maker.first->is(Op::concat); };
  if (llvm::any_of(places, is_concat)) return reads.empty();  // its parts have makers and places of their own
  const llvm::DenseSet<const Node*> later = after(places);
  const bool granted = llvm::all_of(reads, [&](const StateRead& read) {
    const auto maker = places.find(read.reader);
    if (maker == places.end()) return !later.contains(read.reader);
    return llvm::is_contained(maker->second, *read.value->layout) &&
           reads_elementwise(*read.reader, *read.value);
  });
  if (granted) note_order(reads, places);
  return granted;
}

/// What takes values of the writers, or has to wait for such.
llvm::DenseSet<const Node*> Overwrites::after(const Places& writers) const {
  llvm::DenseSet<const Node*> seen;
  llvm::SmallVector<const Node*, 32> stack;
  const auto visit = [&](const Node* node) {
    if (seen.insert(node).second) stack.push_back(node);
  };
  for (const auto& [node, places] : writers) stack.push_back(node);
  while (!stack.empty()) {
    const Node* node = stack.pop_back_val();
    for (const auto& result : node->results()) llvm::for_each(result->users(), visit);
    if (const auto known = writers_after_.find(node); known != writers_after_.end())
      llvm::for_each(known->second, visit);
  }
  return seen;
}

void Overwrites::note_order(const std::vector<StateRead>& reads, const Places& writers) {
  for (const StateRead& read : reads)
    for (const auto& [writer, places] : writers)
      if (!writers.contains(read.reader)) writers_after_[read.reader].push_back(writer);
}

}  // namespace smelt
