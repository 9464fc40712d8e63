#include "passes/graph/layout/overwrites.h"

#include "ir/analysis/epilogue.h"
#include "ir/analysis/uses.h"
#include "ir/analysis/view.h"
#include "ir/graph/body.h"
#include "ir/graph/insertion.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/analysis.h"
#include "passes/graph/layout/part_in_place.h"

namespace smelt {
namespace {

/// The value that views look at.
const Value& behind_views(const Value& value) {
  const Value* behind = &value;
  while (is_view(*behind->node())) behind = behind->node()->operand(0);
  return *behind;
}

/// Returns the location of the whole value that views read, if `value` is at `place`; nothing if no strides
/// express it.
std::optional<Layout> place_behind_views(const Value& value, std::optional<Layout> place) {
  for (const Node* view = value.node(); place && is_view(*view); view = view->operand(0)->node()) {
    if (view->is(Op::slice))
      place->offset = place->offset - view->get(attr::begin) * place->strides[view->get(attr::axis)];
    else
      place = operand_layout(*view, *place);
  }
  return place;
}

bool is_state_memory(const Node& leaf) { return leaf.is(Op::state) || leaf.is(Op::parameter); }

/// The input of a fusion's body that inserts turn into the result; null where others make it.
const Value* target_in_body(const Value& result) {
  if (!result.node()->is(Op::fusion)) return nullptr;
  const Value* returned = result.node()->body->outputs[result.index()].value;
  return returned->node()->is(Op::insert) ? inserted_into(*returned->node()) : nullptr;
}

Value* outside_of(const Node& node, const Value& input) {
  for (const auto& [operand, inside] : body_arguments(node))
    if (inside == &input) return operand;
  return nullptr;
}

/// The operand is read by no thread: inserts put the result into it.
bool is_only_target(const Node& node, const Value& operand, const Value& result) {
  const Value* target = target_in_body(result);
  return target != nullptr && llvm::all_of(body_arguments(node), [&](const BodyArgument& argument) {
           return argument.operand != &operand || argument.input == target;
         });
}

bool reads_elementwise(const Node& node, const Value& operand, const Value& result) {
  if (target_in_body(result)) return is_only_target(node, operand, result);
  if (node.is(Op::pack)) return true;
  if (node.is(Op::scatter_add) || node.is(Op::scatter))  // changes its first operand in place
    return !llvm::is_contained(node.operands().drop_front(), &operand) && operand.shape() == result.shape();
  return node.body && !llvm::is_contained(own_operands(node), &operand) &&
         body_reads_elementwise(node, operand, result);
}

/// Returns whether one reader is all that sees the value's elements where they are stored: no other reader,
/// and no output, shows the value, what it is a view of, or a part of it that is computed in its memory.
bool is_stored_for_one_reader(const Value& value) {
  const Node& node = *value.node();
  if (!has_one_use(value)) return false;
  if (!is_view(node) && !node.is(Op::concat) && !node.is(Op::pack)) return true;
  return llvm::all_of(node.operands(),
                      [](const Value* operand) { return is_stored_for_one_reader(*operand); });
}

}  // namespace

Value* added_to(const Value& result) {
  const Node& node = *result.node();
  Value* start = nullptr;
  if (node.is(Op::scatter_add) || node.is(Op::scatter))
    start = node.operand(0);
  else if (const auto sum = epilogue(node); sum && sum->kind == Epilogue::Kind::matrix)
    start = sum->operand;
  else if (const Value* input = target_in_body(result))
    start = outside_of(node, *input);
  return start && is_stored_for_one_reader(*start) ? start : nullptr;
}

namespace {

/// Returns whether the node accumulates into the result of the other one, perhaps through a chain: it comes
/// later.
bool goes_on_from(const Node& node, const Node& other) {
  return llvm::any_of(node.results(), [&](const auto& result) {
    const Value* start = added_to(*result);
    while (start && behind_views(*start).node() != &other) start = added_to(behind_views(*start));
    return start != nullptr;
  });
}

}  // namespace

/// The nodes that compute a pack's parts, or the one value. No node makes inputs and constants, which are
/// copied in the end, nor content of the state that stays where it is: `taker` reads it there.
class Overwrites::Makers {
 public:
  Makers(const Graph& graph, const Value& value, const Layout& place) : taker_(value) {
    places_[value.node()] = {};
    if (!value.node()->is(Op::pack)) {
      add(value, place);
      return;
    }
    const State& state = *graph.module().find_state(value.node()->get(attr::state));
    for (auto [part, segment] : llvm::zip(value.node()->operands(), state.segments))
      add(*part, {place.buffer, place.offset + segment.offset, dense_strides(part->shape())});
  }

  const Places& places() const { return places_; }
  /// Some of the old content goes elsewhere.
  bool move_content() const { return move_content_; }
  /// Who takes parts that have makers and places of their own.
  bool take_parts() const {
    return llvm::any_of(places_, [&](const auto& maker) {
      return maker.first->is(Op::concat) || (maker.first->is(Op::pack) && maker.first != taker_.node());
    });
  }

 private:
  void add(const Value& value, const Layout& place) {
    const Value& made = behind_views(value);
    const Node& maker = *made.node();
    if (is_state_memory(maker)) return add_content(value, place);
    if (info(maker.op()).has(Trait::leaf)) return;
    std::vector<Place>& known = places_[&maker];
    const auto behind = place_behind_views(value, place);
    if (!behind) return;
    known.push_back({*behind, &made});
    // The matrix that it is added to is computed in the same memory, except for the state's content, which is
    // there.
    const Value* start = added_to(made);
    if (start && !is_state_memory(*behind_views(*start).node())) add(*start, *behind);
  }

  void add_content(const Value& value, const Layout& place) {
    if (!value.layout || value.layout->buffer != place.buffer) return;
    // The shape is that of a pack's part, which has fewer dims than the state.
    places_[taker_.node()].push_back({place, &taker_, region_of(place, value.shape())});
    move_content_ |= *value.layout != place;
  }

  const Value& taker_;
  Places places_;
  bool move_content_ = false;
};

bool Overwrites::grant(const Value& value, const Layout& place) {
  if (info(behind_views(value).node()->op()).has(Trait::leaf)) return false;
  const std::vector<StateRead> reads = reads_of_state(graph_, place.buffer);
  const Makers makers(graph_, value, place);
  if (makers.move_content()) return false;
  if (makers.take_parts()) return reads.empty();
  const llvm::DenseSet<const Node*> later = after(makers.places());
  const bool granted = llvm::all_of(reads, [&](const StateRead& read) {
    return makers.places().contains(read.reader) ? reads_own_place(read, makers.places())
                                                 : !later.contains(read.reader);
  });
  if (granted) note_order(reads, makers.places());
  return granted;
}

/// One of the writers reads what it alone writes, but for those that add to its result.
bool Overwrites::reads_own_place(const StateRead& read, const Places& writers) {
  bool own = false;
  for (const auto& [writer, places] : writers)
    for (const Place& place : places)
      if (writer != read.reader && overlap(place.region, read.region) && !goes_on_from(*writer, *read.reader))
        return false;
      else if (writer == read.reader && place.layout == *read.value->layout)
        own |= reads_elementwise(*read.reader, *read.value, *place.value);
  return own;
}

/// Returns the nodes that read values of the writers, or must wait for such nodes.
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
  for (const StateRead& read : reads) {
    if (writers.contains(read.reader)) continue;
    for (const auto& [writer, places] : writers) writers_after_[read.reader].insert(writer);
  }
}

}  // namespace smelt
