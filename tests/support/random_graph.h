// Random valid graphs over symbolic dims, for differential tests.
#pragma once

#include <algorithm>
#include <random>

#include "ir/evaluate/evaluator.h"
#include "ir/graph/attention_body.h"

namespace smelt::testing {

struct RandomGraphOptions {
  int nodes = 16;          // number of steps, each of which adds one or a few nodes
  bool composites = true;  // softmax, norms, dropout, attention, ...
  bool randoms = true;     // operations with random numbers, including dropout
  bool integers = true;    // gather, scatter_add, argmax, iota
  bool scalar = false;     // another output "loss": f32[], a weighted sum of all elements of the others
  int shown = 5;           // percentage of outputs among values with users; all other values are outputs
  bool edges = false;      // values that are empty at some sizes or changed in place, ties, states
};

inline Dim symbol_b() { return Dim::symbol("B"); }
inline Dim symbol_t() { return Dim::symbol("T"); }

/// Generator of one graph. Values keep a magnitude around 1 in long chains of operations: sums are scaled
/// down, and arguments of quotients and roots are kept away from 0.
class RandomGraph {
 public:
  virtual ~RandomGraph() = default;
  RandomGraph(uint64_t seed, const RandomGraphOptions& options)
      : random_(seed),
        options_(options),
        module_(std::make_unique<Module>()),
        graph_(module_->add_graph("main")),
        b_(graph_) {}

  std::unique_ptr<Module> make() {
    module_->symbols.bound({"B"}, 8);
    module_->symbols.bound({"T"}, 40);
    module_->symbols.bound({"B", "T"}, 128);
    start();
    for (int i = 0; i < options_.nodes; ++i) {
      b_.set_source("step." + std::to_string(i));
      grow();
    }
    finish();
    return std::move(module_);
  }

 protected:
  using Step = void (RandomGraph::*)();

  // ---- choices

  int below(size_t count) { return static_cast<int>(random_() % count); }
  bool chance(int percent) { return below(100) < percent; }
  template <typename T>
  const T& one_of(const std::vector<T>& list) {
    return list[static_cast<size_t>(below(list.size()))];
  }

  Dim any_dim() {
    if (options_.edges && chance(15)) return floor_div(symbol_t(), 2);
    return one_of<Dim>({symbol_b(), symbol_t(), 8, 8, 3, 33});
  }

  /// Returns whether the size is 0 if all symbols are 1.
  static bool may_be_empty(const Dim& dim) { return dim.evaluate({{"B", 1}, {"T", 1}}) < 1; }
  static bool may_be_empty(const Value& value, const std::vector<int64_t>& axes) {
    return std::any_of(axes.begin(), axes.end(),
                       [&](int64_t axis) { return may_be_empty(value.shape()[static_cast<size_t>(axis)]); });
  }

  /// Returns a float value of the graph with a rank in this range; recent values are more likely.
  Value* any(int64_t least_rank = 0, int64_t most_rank = 4) {
    std::vector<Value*> fitting;
    for (Value* value : pool_)
      if (value->rank() >= least_rank && value->rank() <= most_rank) fitting.push_back(value);
    if (chance(50) && fitting.size() > 3) fitting.erase(fitting.begin(), fitting.end() - 3);
    return one_of(fitting);
  }

  /// Returns a value of the same type: an existing one (possibly `value`), or a new broadcast of a constant,
  /// of a parameter or of a sum of `value`.
  Value* like(Value* value) {
    std::vector<Value*> fitting;
    for (Value* other : pool_)
      if (other->type == value->type) fitting.push_back(other);
    if (chance(70)) return one_of(fitting);
    if (value->rank() == 0 || chance(30)) return b_.broadcast(b_.scalar(0.5 + below(3)), {}, value->shape());
    if (const Dim last = value->shape().back(); last.constant() && !last.is_zero() && chance(60))
      return b_.broadcast_leading(parameter({last}), value->shape());
    Value* sum = b_.sum(value, {value->rank() - 1});
    return b_.broadcast_over(scaled(sum, 0.2), {value->rank() - 1}, value->shape());
  }

  Value* parameter(Shape shape) {
    Module::Parameter parameter;
    parameter.name = "w" + std::to_string(module_->parameters.size());
    parameter.type = {DType::f32, std::move(shape)};
    parameter.init = {Initializer::Kind::normal, 0.5, 0};
    return b_.parameter(parameter);
  }

  Value* scaled(Value* value, double factor) { return b_.mul(value, b_.like(value, factor)); }

  /// Adds a value to pool_, unless it is too large.
  void add(Value* value) {
    const int64_t elements = module_->symbols.upper(element_count(value->shape()));
    if (elements > 200000 || value->rank() > 4) return;
    pool_.push_back(value);
  }

  // ---- steps

  void start() {
    add(b_.input("x", {DType::f32, {symbol_b(), symbol_t(), 8}}));
    add(b_.input("y", {DType::f32, {symbol_t(), 33}}));
    ids_ = b_.input("ids", {DType::i32, {symbol_b(), symbol_t()}});
    add(parameter({8}));
    add(parameter({3, 8}));
    leaves_ = pool_;
  }

  virtual void grow() {
    if (options_.edges && chance(35)) return edge();
    static const std::vector<Step> primitives = {
        &RandomGraph::unary,  &RandomGraph::unary,     &RandomGraph::binary,    &RandomGraph::binary,
        &RandomGraph::choose, &RandomGraph::broadcast, &RandomGraph::reduce,    &RandomGraph::matmul,
        &RandomGraph::linear, &RandomGraph::reshape,   &RandomGraph::transpose, &RandomGraph::slice,
        &RandomGraph::concat, &RandomGraph::convert,   &RandomGraph::windows};
    static const std::vector<Step> integers = {&RandomGraph::gather, &RandomGraph::scatter,
                                               &RandomGraph::iota, &RandomGraph::argmax};
    static const std::vector<Step> composites = {&RandomGraph::composite};
    static const std::vector<Step> randoms = {&RandomGraph::mask};
    const int dice = below(100);
    const auto& steps = options_.composites && dice < 20 ? composites
                        : options_.integers && dice < 35 ? integers
                        : options_.randoms && dice < 42  ? randoms
                                                         : primitives;
    (this->*one_of(steps))();
  }

  /// Range of the argument of a function: any number, numbers in (-1, 1), numbers >= 1/2, numbers >= 0.
  enum class Argument { any, small, positive, magnitude };

  Value* argument(Value* x, Argument kind) {
    if (kind == Argument::small) return b_.tanh(x);
    if (kind == Argument::positive) return b_.add(b_.mul(x, x), b_.like(x, 0.5));
    return kind == Argument::magnitude ? b_.abs(x) : x;
  }

  void unary() {
    using S = ScalarOp;
    using enum Argument;
    static constexpr std::pair<ScalarOp, Argument> kOps[] = {{S::neg, any},         {S::abs, any},
                                                             {S::sign, any},        {S::exp, small},
                                                             {S::expm1, small},     {S::log, positive},
                                                             {S::log1p, magnitude}, {S::sqrt, positive},
                                                             {S::rsqrt, positive},  {S::reciprocal, positive},
                                                             {S::tanh, any},        {S::sigmoid, any},
                                                             {S::erf, any},         {S::sin, any},
                                                             {S::cos, any}};
    Value* x = RandomGraph::any();
    const auto choice = static_cast<size_t>(below(std::size(kOps) + 1));
    if (choice == std::size(kOps)) return add(scaled(b_.floor(b_.mul(x, b_.like(x, 3))), 0.3));
    add(b_.pointwise(kOps[choice].first, {argument(x, kOps[choice].second)}));
  }

  void binary() {
    Value *x = any(), *y = like(x);
    switch (below(6)) {
      case 0:
        return add(b_.add(x, y));
      case 1:
        return add(b_.sub(x, y));
      case 2:
        return add(b_.mul(b_.tanh(x), y));
      case 3:
        return add(b_.div(x, b_.add(b_.abs(y), b_.like(y, 0.5))));
      case 4:
        return add(b_.max(x, y));
      default:
        return add(b_.min(x, y));
    }
  }

  void choose() {
    Value *x = any(), *y = like(x);
    Value* flag = chance(50) ? b_.lt(x, y) : b_.ge(x, b_.like(x, 0.1));
    if (chance(30)) flag = b_.logical_not(flag);
    if (chance(30)) flag = b_.logical_or(flag, b_.gt(y, b_.like(y, 0.7)));
    add(b_.select(flag, x, scaled(y, 0.5)));
  }

  void broadcast() {
    Value* x = any(0, 2);
    Shape shape = x->shape();
    const int64_t axis = below(shape.size() + 1);
    shape.insert(shape.begin() + axis, any_dim());
    add(b_.broadcast_over(x, {axis}, shape));
  }

  std::vector<int64_t> some_axes(int64_t rank) {
    std::vector<int64_t> axes;
    for (int64_t i = 0; i < rank; ++i)
      if (chance(50)) axes.push_back(i);
    if (axes.empty()) axes.push_back(rank - 1);
    return axes;
  }

  void reduce() {
    Value* x = any(1);
    const std::vector<int64_t> axes = chance(60) ? std::vector<int64_t>{x->rank() - 1} : some_axes(x->rank());
    if (may_be_empty(*x, axes) && chance(80)) return add(scaled(b_.sum(x, axes), 0.1));
    switch (below(may_be_empty(*x, axes) ? 3 : 5)) {
      case 0:
        return add(b_.reduce(ReduceOp::max, x, axes));
      case 1:
        return add(b_.reduce(ReduceOp::min, x, axes));
      case 2: {
        Node* pair = b_.reduce_node(ReduceOp::max_sumexp, x, axes);
        return add(b_.add(b_.log(pair->result(1)), pair->result(0)));
      }
      case 3:
        return add(b_.reduce(has_pivot(x->shape(), axes) ? ReduceOp::pivot : ReduceOp::first, x, axes));
      default:
        return add(scaled(b_.sum(x, axes), 0.1));
    }
  }

  /// A matmul with random letters in its einsum spec. A letter that is in both operands is either summed over
  /// or a batch letter.
  void matmul() {
    Value *x = any(1, 3), *y = chance(40) ? x : any(1, 3);
    std::string a, b, out;
    for (int64_t i = 0; i < x->rank(); ++i) a += static_cast<char>('a' + i);
    std::string summed;
    for (int64_t i = 0; i < y->rank(); ++i) {
      char letter = static_cast<char>('p' + i);
      for (int64_t j = 0; j < x->rank(); ++j)
        if (x->shape()[j] == y->shape()[i] && b.find(a[j]) == std::string::npos && chance(70)) letter = a[j];
      b += letter;
      if (a.find(letter) != std::string::npos && chance(60)) summed += letter;
    }
    for (char letter : a + b)
      if (out.find(letter) == std::string::npos && summed.find(letter) == std::string::npos) out += letter;
    if (out.size() > 4) return;
    std::shuffle(out.begin(), out.end(), random_);
    add(scaled(b_.matmul(x, y, a + "," + b + "->" + out), summed.empty() ? 1 : 0.2));
  }

  /// Returns relu(x), or every other time a dropout of relu(x). The backward pass may derive the mask of this
  /// dropout from its result.
  Value* rectified(Value* x) {
    Value* h = b_.select(b_.le(x, b_.like(x, 0)), b_.like(x, 0), x);
    if (!options_.randoms || !options_.composites || pool_.size() % 2 == 0) return h;
    return b_.create(Op::dropout, {h}, {attr::p(0.25), attr::id(module_->next_random_id())})->result();
  }

  void linear() {
    Value* x = any(1, 3);
    if (pool_.size() % 3 == 0) x = rectified(x);
    const Dim last = x->shape().back();
    if (!last.constant() || last.is_zero()) return unary();
    const Dim width = one_of<Dim>({8, 3, 33});
    Value* w = parameter({width, last});
    if (options_.composites && chance(50))
      return add(b_.create(Op::linear, {x, w, parameter({width})})->result());
    const std::string batch = std::string("xyz").substr(0, static_cast<size_t>(x->rank() - 1));
    const std::string spec = batch + "c,oc->" + batch + "o";
    if (chance(20)) return add(scaled(matmul_with_body(x, w, spec), 0.4));
    Value* y = scaled(b_.matmul(x, w, spec), 0.4);
    add(b_.add(y, b_.broadcast_leading(parameter({width}), y->shape())));
  }

  /// A matmul with an epilogue ("body"): a bias, or a bias and an activation.
  Value* matmul_with_body(Value* x, Value* w, const std::string& spec) {
    const bool activated = chance(50);
    return b_.matmul(x, w, spec, {parameter({w->shape()[0]})}, [&](GraphBuilder& b, auto inputs) {
      Value* sum = b.add(inputs[0], b.broadcast_leading(inputs[1], inputs[0]->shape()));
      return activated ? b.mul(b.tanh(sum), inputs[0]) : sum;
    });
  }

  void reshape() {
    Value* x = any(1, 3);
    Shape shape = x->shape();
    if (shape.back() == Dim(8) && chance(50)) {
      shape.back() = 2;
      shape.push_back(4);
    } else if (shape.size() >= 2) {
      shape[0] *= shape[1];
      shape.erase(shape.begin() + 1);
    } else {
      shape.insert(shape.begin(), 1);
    }
    add(b_.reshape(x, shape));
  }

  void transpose() {
    Value* x = any(2);
    std::vector<int64_t> permutation;
    for (int64_t i = 0; i < x->rank(); ++i) permutation.push_back(i);
    std::shuffle(permutation.begin(), permutation.end(), random_);
    add(b_.transpose(x, permutation));
  }

  void slice() {
    Value* x = any(1);
    const int64_t axis = below(x->shape().size());
    const Dim size = x->shape()[axis];
    if (may_be_empty(size)) return unary();
    if (size.constant() && *size.constant() >= 3) {
      const int64_t begin = below(static_cast<size_t>(*size.constant() - 1));
      return add(b_.slice(x, axis, begin, 1 + below(static_cast<size_t>(*size.constant() - begin))));
    }
    add(b_.slice(x, axis, chance(50) ? Dim(0) : size - 1, 1));
  }

  void concat() {
    Value *x = any(1, 3), *y = like(x);
    add(b_.concat({x, y}, below(x->shape().size())));
  }

  /// Windows along an axis, with at most 3 elements; with 1 element if the size of the axis is symbolic.
  void windows() {
    Value* x = any(1, 3);
    const int64_t axis = below(x->shape().size());
    if (x->shape()[axis].is_zero()) return unary();
    const int64_t most = std::min<int64_t>(3, x->shape()[axis].constant().value_or(1));
    Value* padded = options_.composites && chance(30) ? b_.pad(x, axis, below(3), 1, 0.5) : x;
    add(b_.windows(padded, axis, 1 + below(static_cast<size_t>(most)), 1 + below(3)));
  }

  void convert() {
    Value* x = any();
    const DType narrow[] = {DType::bf16, DType::f16, DType::f8e4m3};
    add(b_.convert(b_.convert(x, narrow[below(3)]), DType::f32));
  }

  // ---- integers and random numbers

  /// Returns a table of constant size for a gather by ids, or null, for which gather() uses any value.
  Value* table_for_ids() { return chance(50) ? parameter({one_of<Dim>({3, 8, 33}), 8}) : nullptr; }

  void gather() {
    Value* table = table_for_ids();
    if (!table) table = any(1, 2);
    int64_t axis = below(table->shape().size());
    if (may_be_empty(*table, {axis})) return unary();
    add(b_.gather(table, ids_, axis));
  }

  void scatter() {
    Value* init = any(1, 2);
    const int64_t axis = below(init->shape().size());
    if (may_be_empty(*init, {axis})) return unary();
    Value* updates = scaled(b_.sin(b_.gather(init, ids_, axis)), 0.1);
    add(chance(60) ? b_.scatter_add(init, ids_, updates, axis) : b_.scatter(init, ids_, updates, axis));
  }

  void iota() {
    Value* x = any(1);
    Value* index = b_.iota({DType::i32, x->shape()}, below(x->shape().size()));
    add(b_.add(x, scaled(b_.convert(index, DType::f32), 0.05)));
  }

  void argmax() {
    Value* x = any(1);
    if (may_be_empty(x->shape().back())) return unary();
    Node* node = b_.reduce_node(ReduceOp::argmax, x, {x->rank() - 1});
    add(b_.add(node->result(0), scaled(b_.convert(node->result(1), DType::f32), 0.05)));
  }

  void mask() {
    Value* x = any();
    Value* bits = b_.random(x->shape(), module_->next_random_id());
    Value* keep = b_.ge(bits, b_.like(bits, 20000));
    add(b_.select(keep, scaled(x, 1.44), b_.like(x, 0)));
  }

  // ---- edges

  void edge() {
    static const std::vector<Step> steps = {&RandomGraph::halves,  &RandomGraph::all_but_one,
                                            &RandomGraph::scatter, &RandomGraph::scatter_into_view,
                                            &RandomGraph::insert,  &RandomGraph::neighbours,
                                            &RandomGraph::ties,    &RandomGraph::gather_parts,
                                            &RandomGraph::keep,    &RandomGraph::running,
                                            &RandomGraph::largest};
    (this->*one_of(steps))();
  }

  /// Splits an axis into halves. The first is empty if the size is 1.
  void halves() {
    Value* x = any(1, 3);
    const int64_t axis = below(x->shape().size());
    const Dim whole = x->shape()[static_cast<size_t>(axis)], half = floor_div(whole, 2);
    Value *low = b_.slice(x, axis, 0, half), *high = b_.slice(x, axis, half, whole - half);
    if (chance(50)) low = b_.tanh(low);
    if (chance(50)) add(low);
    if (chance(50)) add(high);
    add(chance(50) ? b_.concat({high, low}, axis) : b_.concat({low, high}, axis));
  }

  void all_but_one() {
    Value* x = any(1, 3);
    const int64_t axis = below(x->shape().size());
    const Dim& whole = x->shape()[static_cast<size_t>(axis)];
    if (may_be_empty(whole) || whole.is_one()) return unary();
    add(b_.slice(x, axis, chance(50) ? 0 : 1, whole - 1));
  }

  /// Differences or maxima of adjacent elements: two slices that overlap.
  void neighbours() {
    Value* x = any(1, 3);
    const int64_t axis = below(x->shape().size());
    const Dim& whole = x->shape()[static_cast<size_t>(axis)];
    if (may_be_empty(whole) || whole.is_one()) return unary();
    Value *low = b_.slice(x, axis, 0, whole - 1), *high = b_.slice(x, axis, 1, whole - 1);
    add(chance(50) ? b_.sub(high, low) : b_.max(low, scaled(high, 0.5)));
  }

  /// Scatters into a reshape, a concat or a transpose, which may be an output although the compiler may
  /// change it in place.
  void scatter_into_view() {
    Value* x = any(1, 2);
    Value* other = like(x);
    switch (below(3)) {
      case 0:
        x = b_.reshape(x, {element_count(x->shape())});
        break;
      case 1:
        x = b_.concat({x, other}, 0);
        break;
      default:
        if (x->rank() == 2) x = b_.transpose(x, {1, 0});
    }
    add(x);
    if (may_be_empty(*x, {0})) return;
    Value* updates = scaled(b_.sin(b_.gather(x, ids_, 0)), 0.1);
    Value* y = chance(50) ? b_.scatter_add(x, ids_, updates, 0) : b_.scatter(x, ids_, updates, 0);
    add(y);
    if (chance(40)) add(b_.scatter_add(y, ids_, updates, 0));
  }

  /// Replaces a few rows of a value, at a position that is a constant or an input.
  void insert() {
    Value* x = any(1, 3);
    for (int64_t axis = 0; axis < x->rank(); ++axis) {
      const auto size = x->shape()[static_cast<size_t>(axis)].constant();
      if (!size || *size < 8) continue;
      Value* rows = b_.slice(like(x), axis, below(5), 1 + below(3));
      Value* at = chance(50) ? place() : b_.constant(below(6), {DType::i32, {}});
      return add(b_.insert(x, chance(50) ? b_.cos(rows) : rows, {at}, {axis}));
    }
    unary();
  }

  Value* place() {
    if (!place_) place_ = b_.input("place", {DType::i32, {}});
    return place_;
  }

  /// A value with many equal numbers, and its argmax.
  void ties() {
    Value* x = leaves_[static_cast<size_t>(below(leaves_.size()))];
    Value* few = scaled(b_.floor(scaled(x, 2)), 0.5);
    add(few);
    if (few->rank() == 0) return;
    Node* node = b_.reduce_node(ReduceOp::argmax, few, {few->rank() - 1});
    add(scaled(b_.convert(node->result(1), DType::f32), 0.05));
    add(node->result(0));
  }

  /// Gathers from a value and from a concat that contains it.
  void gather_parts() {
    Value* x = any(1, 2);
    if (may_be_empty(*x, {0})) return unary();
    Value* whole = b_.concat({x, like(x)}, 0);
    add(b_.gather(whole, ids_, 0));
    Value* part = b_.gather(x, ids_, 0);
    add(chance(50) ? part : b_.add(part, b_.gather(whole, ids_, 0)));
  }

  void running() {
    Value* x = any(1, 3);
    add(scaled(b_.scan("add", x, below(x->shape().size()), chance(30)), 0.2));
  }

  /// The top 3 elements of rows, or all if a row is shorter.
  void largest() {
    Value* x = any(1, 3);
    if (may_be_empty(x->shape().back()) || !x->shape().back().constant()) return unary();
    add(b_.top_k(x, std::min<int64_t>(3, *x->shape().back().constant()))->result());
  }

  /// A state that is read and updated. Its readers get the old contents.
  void keep() {
    std::vector<Value*> fitting;
    for (Value* value : pool_)
      if (element_count(value->shape()).constant().value_or(0) > 0) fitting.push_back(value);
    Value* content = one_of(fitting);
    State state;
    state.name = "s" + std::to_string(module_->states.size());
    state.shape = content->shape();
    module_->states.push_back(state);
    Value* old = b_.state(state.name);
    add(old);
    switch (below(3)) {
      case 0:
        return void(b_.update(state.name, content));
      case 1:
        return void(b_.update(state.name, b_.add(scaled(old, 0.5), content)));
      default:
        return void(b_.update(state.name, like(content)));
    }
  }

  // ---- composites

  void composite() {
    Value* x = any(1, 3);
    const Dim last = x->shape().back();
    switch (below(10)) {
      case 0:
        return add(b_.create(Op::softmax, {x})->result());
      case 1:
        return add(b_.create(Op::log_softmax, {x})->result());
      case 2:
        return add(b_.create(Op::gelu, {x})->result());
      case 3:
        return add(b_.create(Op::gelu_tanh, {x})->result());
      case 4:
        return add(b_.create(Op::silu, {x})->result());
      case 5:
        if (!options_.randoms) return unary();
        return add(
            b_.create(Op::dropout, {x}, {attr::p(0.25), attr::id(module_->next_random_id())})->result());
      case 6:
        if (!last.constant() || last.is_zero()) return unary();
        return add(b_.create(Op::layer_norm, {x, parameter({last}), parameter({last})}, {attr::eps(1e-3)})
                       ->result());
      case 7:
        if (!last.constant() || last.is_zero()) return unary();
        return add(b_.create(Op::rms_norm, {x, parameter({last})}, {attr::eps(1e-3)})->result());
      case 8:
        return attention();
      default:
        return cross_entropy();
    }
  }

  Value* of_shape(const Shape& shape) {
    std::vector<Value*> fitting;
    for (Value* value : pool_)
      if (value->shape() == shape) fitting.push_back(value);
    return one_of(fitting);
  }

  void attention() {
    const Shape heads = {symbol_b(), symbol_t(), 2, 4};
    std::vector<Value*> operands;
    for (int i = 0; i < 3; ++i) operands.push_back(b_.reshape(of_shape({symbol_b(), symbol_t(), 8}), heads));
    AttentionWriter writer(b_, operands[0], operands[1], operands[2], 0.5);
    if (chance(30)) writer.cap(3);
    if (chance(50)) writer.mask_future();
    if (chance(30)) writer.mask_past(2);
    if (options_.randoms && chance(30)) writer.drop(0.25, b_.module().next_random_id());
    Node* node = writer.finish();
    add(b_.reshape(node->result(), {symbol_b(), symbol_t(), 8}));
  }

  void cross_entropy() {
    Value* logits = of_shape({symbol_b(), symbol_t(), 8});
    add(b_.create(Op::cross_entropy, {logits, ids_},
                  {attr::label_smoothing(chance(50) ? 0.1 : 0.0), attr::ignore_index(-100)})
            ->result());
  }

  // ---- the end

  void finish() {
    b_.set_source("end");
    Value* loss = nullptr;
    int count = 0;
    for (Value* value : pool_) {
      if (!value->users().empty() && !chance(options_.shown)) continue;
      b_.output("out" + std::to_string(count++), value);
      if (!options_.scalar) continue;
      std::vector<int64_t> axes;
      for (int64_t i = 0; i < value->rank(); ++i) axes.push_back(i);
      Value* term = scaled(value->rank() == 0 ? value : b_.sum(value, axes), 0.1 + 0.07 * (count % 7));
      loss = loss ? b_.add(loss, term) : term;
    }
    if (loss) b_.output("loss", loss);
  }

  std::mt19937_64 random_;
  RandomGraphOptions options_;
  std::unique_ptr<Module> module_;
  Graph& graph_;
  GraphBuilder b_;
  std::vector<Value*> pool_;  // float values that later steps may use
  std::vector<Value*> leaves_;
  Value *ids_ = nullptr, *place_ = nullptr;
};

/// Returns a module with one graph @main with the inputs x f32[B,T,8], y f32[T,33] and ids i32[B,T]. Equal
/// seeds and options give equal modules.
inline std::unique_ptr<Module> random_module(uint64_t seed, const RandomGraphOptions& options = {}) {
  return RandomGraph(seed, options).make();
}

/// Returns sizes for a run of a random module, which are often odd.
inline SymbolValues random_sizes(uint64_t seed) {
  static constexpr int64_t kB[] = {1, 2, 3, 4}, kT[] = {1, 3, 7, 8, 31, 32};
  return {{"B", kB[seed % 4]}, {"T", kT[seed / 4 % 6]}};
}

/// Returns options for the evaluation of a random module: sizes, and a seed of its random numbers.
inline EvaluateOptions random_options(uint64_t seed) {
  EvaluateOptions options;
  options.symbols = random_sizes(seed);
  options.philox.seed = static_cast<uint32_t>(seed);
  return options;
}

}  // namespace smelt::testing
