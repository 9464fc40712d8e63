#include "ir/ops/verifier_rules.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "ir/graph/body.h"
#include "ir/graph/custom_vjp.h"
#include "ir/graph/insertion.h"
#include "ir/text/text.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/base/error.h"
#include "runtime/base/tensor.h"
#include "runtime/plan/plan_validate.h"
#include "runtime/plan/segment_parts.h"

namespace smelt {
namespace {

void same_type(std::string_view what, const std::string& name, const Type& used, const Type& declared) {
  if (used != declared) fail("{} \"{}\" is declared as {}, used as {}", what, name, str(declared), str(used));
}

const State& declared_state(const Node& node, AttributeName<std::string> attribute) {
  const std::string& name = node.get(attribute);
  const State* state = node.graph().module().find_state(name);
  if (!state) fail("state \"{}\" is not declared", name);
  return *state;
}

void check_parameter(const Node& node) {
  const std::string& name = node.get(attr::name);
  const Module::Parameter* declared = node.graph().module().find_parameter(name);
  if (!declared) fail("parameter \"{}\" is not declared", name);
  // In a type of its own where a flat state holds the parameters in it.
  const DType dtype = node.result()->dtype();
  const bool stored =
      dtype != declared->type.dtype && node.graph().module().find_parameter_state(name, dtype) != nullptr;
  same_type("parameter", name, node.result()->type,
            {stored ? dtype : declared->type.dtype, declared->type.shape});
}

void check_input(const Node& node) {
  const std::optional<IdRange> ids = id_range(node);
  for (const auto& beside : {attr::ignored, attr::least})
    if (!ids && node.has(beside))
      fail("attribute '{}' stands without 'below', the number of ids", beside.text);
  if (!ids) return;
  const DType dtype = node.result()->dtype();
  if (is_float(dtype) || dtype == DType::boolean)
    fail("ids below {} in an input of {}, expected integers", ids->below, name(dtype));
}

void check_state(const Node& node) {
  const State& state = declared_state(node, attr::name);
  same_type("state", state.name, node.result()->type, {state.dtype, state.shape});
}

/// Returns whether a value of `part` elements fits into `whole`, at any sizes.
bool fits(const Symbols& symbols, const Dim& part, const Dim& whole) {
  if (const auto left = (whole - part).constant()) return *left >= 0;
  const auto room = whole.constant();
  return room && symbols.upper(part) <= *room;
}

/// The coordinates of ranks that a size mentions.
std::vector<const MeshAxis*> coordinates_in(const Mesh& mesh, const Dim& dim) {
  std::vector<std::string> names;
  dim.collect_symbols(names);
  std::vector<const MeshAxis*> axes;
  for (const MeshAxis& axis : mesh.axes)
    if (llvm::is_contained(names, coordinate(axis))) axes.push_back(&axis);
  return axes;
}

/// Proven at the corners of the mesh, where a size that is linear in each coordinate is the least.
bool is_never_negative(const Module& module, const Dim& dim) {
  const auto axes = coordinates_in(module.mesh(), dim);
  if (axes.empty()) return module.symbols.upper(Dim(0) - dim) <= 0;
  const std::string place = coordinate(*axes[0]);
  const auto linear = [&](const Dim::Term& term) {
    return llvm::count_if(term.atoms, [&](const Atom& atom) { return atom.inner || atom.name == place; }) <=
           1;
  };
  return llvm::all_of(dim.terms(), linear) &&
         llvm::all_of(std::array<int64_t, 2>{0, axes[0]->size - 1}, [&](int64_t at) {
           return is_never_negative(module, substitute(dim, {{place, Dim(at)}}));
         });
}

/// An index operand has the value's leading dims or none; what no index moves fits where it is.
void check_places(const Node& node, const Type& target) {
  const Value& value = *inserted_value(node);
  std::vector<bool> placed(value.shape().size());
  for (const IndexedAxis& indexed : indexed_axes(node)) {
    const Type& index = indexed.index->type;
    if (is_float(index.dtype) || index.dtype == DType::boolean)
      fail("an index operand is {}, expected integers", str(index));
    const auto leading = llvm::ArrayRef(value.shape()).take_front(index.shape.size());
    if (index.rank() >= value.rank() || !std::equal(leading.begin(), leading.end(), index.shape.begin()))
      fail("an index operand is {}, expected the leading dims of {} or none", str(index), str(value.type));
    placed[static_cast<size_t>(indexed.axis)] = indexed.is_place;
  }
  for (size_t i = 0; i < placed.size(); ++i)
    if (!placed[i] && !fits(node.graph().module().symbols, value.shape()[i], target.shape[i]))
      fail("a value of {} is longer along axis {} than {}", str(value.type), i, str(target));
}

void check_insert(const Node& node) { check_places(node, node.result()->type); }

void check_update_at(const Node& node, const State& state) {
  const Type& value = node.operand(0)->type;
  if (value.dtype != state.dtype || value.shape.size() != state.shape.size())
    fail("a value of {} for a part of state \"{}\", which is {}", str(value), state.name,
         str(Type{state.dtype, state.shape}));
  check_places(node, {state.dtype, state.shape});
}

void check_update(const Node& node) {
  const State& state = declared_state(node, attr::state);
  if (node.operands().size() > 1) return check_update_at(node, state);
  for (const AttributeKey& key : {AttributeKey(attr::axis), AttributeKey(attr::axes)})
    if (node.has(key)) fail("attribute '{}' is given, but no index operand", key.text);
  same_type("state", state.name, node.operand(0)->type, {state.dtype, state.shape});
}

/// "T=1, B=8": sizes within the bounds at which `dim` is below 0, among those where sizes are extreme; empty
/// where there are none.
std::string sizes_below_zero(const Symbols& symbols, const Dim& dim) {
  if (const auto constant = dim.constant()) return *constant < 0 ? "any sizes" : "";
  for (const SymbolValues& values : extreme_values(symbols)) {
    if (dim.evaluate(values) >= 0) continue;
    std::vector<std::string> names, list;
    dim.collect_symbols(names);
    for (const std::string& name : names) list.push_back(fmt::format("{}={}", name, values.at(name)));
    return fmt::format("{}", fmt::join(list, ", "));
  }
  return "";
}

/// Checks that the part is inside the whole, at the sizes for which a plan is checked, and on every rank.
void check_slice(const Node& node) {
  const Module& module = node.graph().module();
  const Dim begin = node.get(attr::begin);
  const auto axis = static_cast<size_t>(node.get(attr::axis));
  const Dim length = node.result()->shape()[axis], left = node.operand(0)->shape()[axis] - begin - length;
  if (const std::string sizes = sizes_below_zero(module.symbols, length); !sizes.empty())
    fail("its length {} along axis {} is below 0 at {}: expected one of 0 or more at all sizes", length.str(),
         axis, sizes);
  for (const Dim& side : {begin, left})
    if (!coordinates_in(module.mesh(), side).empty() && !is_never_negative(module, side))
      fail("[{}, {} + {}) may be outside dim {} of {} at some rank of the mesh {{{}}}", begin.str(),
           begin.str(), node.result()->shape()[axis].str(), axis, str(node.operand(0)->type),
           str(module.mesh()));
    else if (const std::string sizes = sizes_below_zero(module.symbols, side); !sizes.empty())
      fail("[{}, {} + {}) is outside dim {} of {} at {}: expected it inside at all sizes", begin.str(),
           begin.str(), node.result()->shape()[axis].str(), axis, str(node.operand(0)->type), sizes);
}

void check_pack(const Node& node) {
  const State& state = declared_state(node, attr::state);
  // Only the places come from the state: gradients may be packed narrower than they are added up.
  const Type& type = node.result()->type;
  const Shape& whole = state.whole.empty() ? state.shape : state.whole;
  same_type("state", state.name, type, {is_float(type.dtype) ? type.dtype : state.dtype, whole});
  if (state.segments.size() != node.operands().size())
    fail("{} operands for the {} segments of state \"{}\"", node.operands().size(), state.segments.size(),
         state.name);
  // Before partition, operands have the shape of whole segments, also of those that ranks share.
  const bool is_one_rank = node.graph().module().partitioned.has_value();
  for (unsigned i = 0; i < node.operands().size(); ++i) {
    const Segment& segment = state.segments[i];
    const int64_t elements = is_one_rank ? segment.elements() : count_elements(whole_shape(segment));
    if (element_count(node.operand(i)->shape()) != Dim(elements))
      fail("operand {} is {}, segment \"{}\" of state \"{}\" has {} elements", i, str(node.operand(i)->type),
           segment.name, state.name, elements);
  }
}

// ---- composites

void check_last_axis(const Node& node) {
  if (node.operand(0)->rank() < 1) fail("operand 0 is {}, expected a last axis", str(node.operand(0)->type));
}

/// Weights and biases of norms are vectors over the last axis.
void check_norm(const Node& node) {
  check_last_axis(node);
  for (unsigned i = 1; i < node.operands().size(); ++i)
    if (node.operand(i)->shape() != Shape{node.operand(0)->shape().back()})
      fail("operand {} is {}, expected [{}]", i, str(node.operand(i)->type),
           node.operand(0)->shape().back().str());
}

/// Checks a random node that is a part of a draw: of a batch over ranks, or of a larger draw.
void check_draw(const Node& node) {
  if (node.has(attr::parts) != node.has(attr::part)) fail("attributes 'parts' and 'part' stand together");
  const Module& module = node.graph().module();
  for (size_t i = 0; i < node.result()->shape().size(); ++i) {
    if (node.has(draw_begin(i)) != node.has(draw_extent(i)))
      fail("attributes '{}' and '{}' stand together", draw_begin(i).text, draw_extent(i).text);
    if (!node.has(draw_begin(i))) continue;
    const Dim begin = node.get(draw_begin(i)), extent = node.get(draw_extent(i));
    const Dim& length = node.result()->shape()[i];
    if (!is_never_negative(module, begin) || !is_never_negative(module, extent - begin - length))
      fail("[{}, {} + {}) may be outside a draw of {} along dim {}", begin.str(), begin.str(), length.str(),
           extent.str(), i);
  }
}

void check_probability(const Node& node) {
  const double p = node.get(attr::p);
  if (!(p >= 0 && p < 1)) fail("attribute 'p' is {}, expected it in [0, 1)", p);
  check_draw(node);
}

/// Returns whether the node computes each element of its result from the same element of its operands.
bool is_elementwise(const Node& node) {
  return node.is(Op::pointwise) || node.is(Op::convert) || node.is(Op::stop_gradient);
}

/// The first node that makes one score of others; null where none of `returned` depends on such a node.
const Node* mixes_scores(const Node& attention, llvm::ArrayRef<Graph::Output> returned) {
  llvm::DenseSet<const Value*> scores;
  llvm::DenseMap<const Value*, const Node*> mixed;
  for (const Value* handed : handed_values(attention)) scores.insert(handed);
  for (const auto& node : attention.body->nodes())
    for (const Value* operand : node->operands()) {
      const bool bad = scores.contains(operand) && !is_elementwise(*node);
      for (const auto& result : node->results())
        if (const Node* why = bad ? node.get() : mixed.lookup(operand))
          mixed[result.get()] = why;
        else if (scores.contains(operand))
          scores.insert(result.get());
    }
  for (const Graph::Output& output : returned)
    if (const Node* why = mixed.lookup(output.value)) return why;
  return nullptr;
}

void check_attention(const Node& node) {
  if (!node.body) return;
  const llvm::ArrayRef<Graph::Output> returned(node.body->outputs);
  if (const Node* why = mixes_scores(node, returned.take_front(2)))
    fail(
        "its body reads other scores than the one that it modifies, in {}: expected operations on each score "
        "alone",
        print(*why));
}

void check_cross_entropy(const Node& node) {
  const double smoothing = node.get(attr::label_smoothing);
  const auto classes = node.operand(0)->shape().back().constant();
  // Up to where every class but the target counts: a share of it goes to the target, too.
  const auto count = static_cast<double>(classes.value_or(1));
  const double most = count > 1 ? count / (count - 1) : 1;
  if (!(smoothing >= 0 && smoothing <= most))
    fail("attribute 'label_smoothing' is {}, expected it in [0, {}]", smoothing, most);
}

/// Differentiation replaces the cotangents of one node by what arrives at its results.
void check_custom_vjp(const Node& node) {
  const CustomVjp parts(node);
  llvm::DenseSet<const Value*> seen;
  for (unsigned i = 0; i < parts.results(); ++i) {
    const Value* cotangent = parts.cotangent(i);
    if (!cotangent->node()->is(Op::cotangent))
      fail("operand {} is {}, expected a cotangent", parts.results() + i, cotangent->node()->describe());
    if (!seen.insert(cotangent).second) fail("operand {} is given twice", parts.results() + i);
  }
}

struct Row {
  Op op;
  void (*check)(const Node&);
};
constexpr Row kRows[] = {
    {Op::parameter, check_parameter},
    {Op::state, check_state},
    {Op::input, check_input},
    {Op::insert, check_insert},
    {Op::update, check_update},
    {Op::random, check_draw},
    {Op::slice, check_slice},
    {Op::pack, check_pack},
    {Op::softmax, check_last_axis},
    {Op::log_softmax, check_last_axis},
    {Op::layer_norm, check_norm},
    {Op::rms_norm, check_norm},
    {Op::dropout, check_probability},
    {Op::attention, check_attention},
    {Op::attention_grad, check_attention},
    {Op::cross_entropy, check_cross_entropy},
    {Op::custom_vjp, check_custom_vjp},
};

}  // namespace

void verify_contract(const Node& node) {
  for (const Row& row : kRows)
    if (node.is(row.op)) row.check(node);
  if (node.anchored && node.phase == Phase::forward)
    fail("it is anchored in the forward phase; only what a later phase computes again is");
}

}  // namespace smelt
