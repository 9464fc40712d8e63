// Run: one evaluation of a graph over a scalar type S: a floating-point type, Dual<double> (with a tangent),
// or Bounded (with an error bound). It evaluates all nodes in order, or one node per call for a caller that
// evaluates several ranks together. Only the evaluators include this header.
#pragma once

#include <fmt/ranges.h>

#include <algorithm>
#include <deque>

#include "ir/evaluate/evaluate_ops.h"
#include "ir/evaluate/rounding.h"
#include "ir/graph/body.h"
#include "llvm/ADT/DenseMap.h"
#include "runtime/base/error.h"

namespace smelt::evaluation {

/// Arguments of a run: values and, for dual numbers, tangents by the same names (null: all zero).
struct Arguments {
  const Tensors& inputs;
  const Tensors& states;
  const Tensors* tangents;
  const EvaluateOptions& options;
};

/// Returns the tensor of this name; null if there is none.
inline const Tensor* find(const Tensors& tensors, std::string_view name) {
  auto it = tensors.find(name);
  return it == tensors.end() ? nullptr : &it->second;
}

/// Converts a tensor to scalars of type S, with the tangents of `tangent` if S is dual (null: all zero).
template <typename S>
Array<S> make_array(const Tensor& tensor, const Tensor* tangent) {
  Array<S> array{tensor.shape, std::vector<S>(tensor.data.size())};
  for (size_t i = 0; i < array.data.size(); ++i) {
    array.data[i] = S(static_cast<decltype(math::primal(S(0)))>(tensor.data[i]));
    if constexpr (std::is_same_v<S, Dual<double>>)
      if (tangent) array.data[i].tangent = tangent->data.at(i);
  }
  return array;
}

/// Returns the values of an array, without tangents or errors, as a tensor of this element type.
template <typename S>
Tensor values_of(const Array<S>& array, DType dtype) {
  Tensor tensor{dtype, array.shape, {}};
  for (const S& x : array.data) tensor.data.push_back(math::primal(x));
  return tensor;
}

/// Returns one member of each scalar, such as its tangent, as a tensor.
template <typename S>
Tensor field_of(const Array<S>& array, DType dtype, double S::* field) {
  Tensor tensor{dtype, array.shape, {}};
  for (const S& x : array.data) tensor.data.push_back(x.*field);
  return tensor;
}

/// State of one evaluation: the values computed so far.
template <typename S>
class Run {
 public:
  Run(const Graph& graph, const Arguments& arguments) : graph_(graph), arguments_(arguments) {}

  /// New value of a state that the graph has updated, and the state's element type.
  struct Written {
    Array<S> array;
    DType dtype;
  };
  using States = std::map<std::string, Written, std::less<>>;

  /// Evaluates all nodes.
  void run() { run(graph_); }
  /// Evaluates one node. Requires: its operands have values.
  void run(const Node& node) {
    if (node.is(Op::input) && values_.contains(node.result())) return;  // an input of a body
    if (node.body) return run_body(node);
    llvm::SmallVector<const Value*, 2> results;
    for (const auto& result : node.results()) results.push_back(result.get());
    compute(node, node.operands(), results);
  }
  /// Sets a node's result to a value that the caller has computed, such as the result of a collective.
  void set(const Value* value, Array<S> array) {
    owned_.push_back(std::move(array));
    values_[value] = &owned_.back();
  }
  const Array<S>& operator[](const Value* value) const { return *values_.at(value); }
  const States& states() const { return states_; }

 private:
  void run(const Graph& graph) {
    for (const auto& node : graph.nodes()) run(*node);
  }

  /// Applies the node's operation to `operands` and sets `results`: the results of the node, or the block
  /// arguments that the operation passes to the node's body.
  void compute(const Node& node, llvm::ArrayRef<Value*> operands, llvm::ArrayRef<const Value*> results) {
    Call<S> call{node, {}, {}, arguments_.options};
    for (const Value* operand : operands) call.operands.push_back(values_.at(operand));
    for (const Value* result : results) call.shapes.push_back(sizes(result->type));
    for (size_t i = 0; i < call.shapes.size(); ++i)
      if (std::ranges::any_of(call.shapes[i], [](int64_t size) { return size < 0; }))
        fail("{}: {} has a size below 0, [{}]: expected symbols at which all are 0 or more", node.describe(),
             str(results[i]->type), fmt::join(call.shapes[i], ","));
    Arrays<S> arrays = compute(call);
    if constexpr (std::is_same_v<S, Bounded>)
      if (arguments_.options.round) allow_rounding(node, arrays);
    for (size_t i = 0; i < arrays.size(); ++i) {
      if (arrays[i].shape != call.shapes[i])
        fail("{}: computed {}, expected {}", node.describe(), fmt::join(arrays[i].shape, "x"),
             fmt::join(call.shapes[i], "x"));
      set(results[i], std::move(arrays[i]));
    }
  }

  /// Adds the rounding error of 16-bit results, because a kernel may round them or keep them in f32.
  static void allow_rounding(const Node& node, Arrays<Bounded>& arrays) {
    if (!node.is(Op::pointwise) && !node.is(Op::reduce) && !node.is(Op::scan)) return;
    for (size_t i = 0; i < arrays.size(); ++i)
      for (Bounded& x : arrays[i].data) x.error += rounding_error(node.result(i)->dtype(), x);
  }

  Sizes sizes(const Type& type) const {
    Sizes list;
    for (const Dim& dim : type.shape) list.push_back(dim.evaluate(arguments_.options.symbols));
    return list;
  }

  void run_body(const Node& node) {
    const auto handed = handed_values(node);
    if (!handed.empty()) compute(node, own_operands(node), {handed.begin(), handed.end()});
    for (const auto& [operand, input] : body_arguments(node)) values_[input] = values_.at(operand);
    run(*node.body);
    if (!returns_its_body(node.op())) return finish(node);
    for (unsigned i = 0; i < node.result_count(); ++i)
      values_[node.result(i)] = values_.at(node.body->outputs.at(i).value);
  }

  /// Computes the results of an attention from the results of its body.
  void finish(const Node& node) {
    llvm::SmallVector<Value*, 8> operands(own_operands(node));
    for (const Graph::Output& output : node.body->outputs) operands.push_back(output.value);
    llvm::SmallVector<const Value*, 4> results;
    for (const auto& result : node.results()) results.push_back(result.get());
    compute(node, operands, results);
  }

  Arrays<S> compute(const Call<S>& call) {
    switch (call.node.op()) {
      case Op::input:
        return {read_input(call)};
      case Op::parameter:
        return {as_stored(call, read_parameter(call))};
      case Op::state:
        return {read_state(call)};
      case Op::update:
        return update(call), Arrays<S>{};
      case Op::constant:
        return evaluate_constant(call);
      case Op::iota:
        return evaluate_iota(call);
      case Op::random:
        return evaluate_random(call);
      case Op::pointwise:
        return evaluate_pointwise(call);
      case Op::convert:
        return evaluate_convert(call);
      case Op::reduce:
        return evaluate_reduce(call);
      case Op::stop_gradient:
        return evaluate_stop_gradient(call);
      case Op::reshape:
        return evaluate_same(call);
      case Op::collective:
        if (mesh_axis(call.node).size == 1) return evaluate_same(call);
        fail("{}: it is of several ranks; use evaluate_ranks", call.node.describe());
      case Op::broadcast:
        return evaluate_broadcast(call);
      case Op::transpose:
        return evaluate_transpose(call);
      case Op::slice:
        return evaluate_slice(call);
      case Op::windows:
        return evaluate_windows(call);
      case Op::concat:
        return evaluate_concat(call);
      case Op::pack:
        return evaluate_pack(call);
      case Op::gather:
        return evaluate_gather(call);
      case Op::scatter_add:
        return evaluate_scatter_add(call);
      case Op::scatter:
        return evaluate_scatter(call);
      case Op::scan:
        return evaluate_scan(call);
      case Op::top_k:
        return evaluate_top_k(call);
      case Op::sample:
        return evaluate_sample(call);
      case Op::dequantize:
        return evaluate_dequantize(call);
      case Op::insert:
        return evaluate_insert(call);
      case Op::matmul:
        return evaluate_matmul(call);
      case Op::attention:
        return evaluate_attention(call);
      case Op::attention_grad:
        return evaluate_attention_grad(call);
      default:
        break;
    }
    fail("{}: the evaluator knows primitives only; decompose first", call.node.describe());
  }

  // ---- leaves

  const Tensor* tangent(std::string_view name) const {
    return arguments_.tangents ? find(*arguments_.tangents, name) : nullptr;
  }

  /// Returns `tensor` as an array, after a check of its shape (and its tangent's).
  Array<S> checked(const Call<S>& call, std::string_view name, const Tensor& tensor) const {
    const Tensor* direction = tangent(name);
    for (const Tensor* t : {&tensor, direction})
      if (t && (t->shape != call.shape() || static_cast<int64_t>(t->data.size()) != element_count(t->shape)))
        fail("{} \"{}\" is {} = [{}], given [{}] with {} elements", call.node.mnemonic(), name,
             str(call.node.result()->type), fmt::join(call.shape(), ","), fmt::join(t->shape, ","),
             t->data.size());
    return make_array<S>(tensor, direction);
  }

  Array<S> read_input(const Call<S>& call) const {
    const std::string& name = call.node.get(attr::name);
    if (const Tensor* tensor = find(arguments_.inputs, name)) return checked(call, name, *tensor);
    fail("input \"{}\" ({}) of @{} was not given", name, str(call.node.result()->type), graph_.name);
  }

  /// Rounds a parameter to the type in which the node reads it. The caller's tensor may have a wider type.
  static Array<S> as_stored(const Call<S>& call, Array<S> array) {
    return call.node.result()->dtype() == DType::f32 ? array : stored(call, std::move(array));
  }

  Array<S> read_parameter(const Call<S>& call) const {
    const std::string& name = call.node.get(attr::name);
    const State* state = graph_.module().find_parameter_state(name, call.node.result()->dtype());
    // A flat state (a vector that consists of many tensors, its segments) takes precedence over a tensor of
    // the parameter's name, because updates change the state alone.
    const Tensor* flat = state ? find(arguments_.states, state->name) : nullptr;
    if (flat)
      for (const Segment& segment : state->segments)
        if (segment.name == name) return read_segment(call, segment, *flat, tangent(state->name));
    if (const Tensor* tensor = find(arguments_.states, name)) return checked(call, name, *tensor);
    fail("parameter \"{}\" ({}) was not given, neither by its name nor as a segment of a flat state", name,
         str(call.node.result()->type));
  }

  Array<S> read_segment(const Call<S>& call, const Segment& segment, const Tensor& flat,
                        const Tensor* direction) const {
    const int64_t count = segment.elements();
    if (segment.shape != call.shape() || segment.offset < 0 ||
        segment.offset + count > static_cast<int64_t>(flat.data.size()))
      fail("parameter \"{}\" is {}, its segment is [{}] at {} of {} elements", segment.name,
           str(call.node.result()->type), fmt::join(segment.shape, ","), segment.offset, flat.data.size());
    auto part = [&](const Tensor& whole) {
      const auto from = whole.data.begin() + segment.offset;
      return Tensor{whole.dtype, segment.shape, {from, from + count}};
    };
    const Tensor piece = direction ? part(*direction) : Tensor{};
    return make_array<S>(part(flat), direction ? &piece : tangent(segment.name));
  }

  Array<S> read_state(const Call<S>& call) const {
    const std::string& name = call.node.get(attr::name);
    if (const Tensor* tensor = find(arguments_.states, name)) return checked(call, name, *tensor);
    const State* state = graph_.module().find_state(name);
    if (state && !state->segments.empty()) return assemble(call, *state);
    fail("state \"{}\" ({}) was not given", name, str(call.node.result()->type));
  }

  /// Assembles a flat state from the tensors of its segments, with zeros in the padding.
  Array<S> assemble(const Call<S>& call, const State& state) const {
    Array<S> flat = call.zeros();
    for (const Segment& segment : state.segments) {
      const Tensor* part = find(arguments_.states, segment.name);
      if (!part || part->shape != segment.shape)
        fail("state \"{}\" was not given, nor its segment \"{}\" [{}]", state.name, segment.name,
             fmt::join(segment.shape, ","));
      const Array<S> array = make_array<S>(*part, tangent(segment.name));
      if (segment.offset < 0 || segment.offset + array.data.size() > flat.data.size())
        fail("segment \"{}\" is outside state \"{}\"", segment.name, state.name);
      std::copy(array.data.begin(), array.data.end(), flat.data.begin() + segment.offset);
    }
    return flat;
  }

  // ---- effects

  void update(const Call<S>& call) {
    const std::string& name = call.node.get(attr::state);
    const State* state = graph_.module().find_state(name);
    const Type type = state ? Type{state->dtype, state->shape} : call.node.operand(0)->type;
    auto it = states_.find(name);
    if (it == states_.end()) it = states_.emplace(name, Written{before(call, name, type), type.dtype}).first;
    apply_update(call, it->second.array);
  }

  /// Returns the state's value before the first update. The caller need not give that value if the update
  /// overwrites the whole state.
  Array<S> before(const Call<S>& call, const std::string& name, const Type& type) const {
    const Sizes shape = sizes(type);
    const Call<S> whole{call.node, {}, {shape}, arguments_.options};
    if (call.operands.size() == 1) return whole.zeros();
    const Tensor* given = find(arguments_.states, name);
    if (!given || given->shape != shape)
      fail("{}: state \"{}\" ({}) was not given", call.node.describe(), name, str(type));
    return make_array<S>(*given, tangent(name));
  }

  const Graph& graph_;
  const Arguments& arguments_;
  std::deque<Array<S>> owned_;
  llvm::DenseMap<const Value*, const Array<S>*> values_;
  States states_;
};

}  // namespace smelt::evaluation
