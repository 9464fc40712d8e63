// Random graphs with one operation that reads or writes rows of a table by index. The expression of the
// index, its shape and the number of rows are random.
#pragma once

#include <random>

#include "ir/evaluate/evaluator.h"
#include "ir/graph/builder.h"

namespace smelt::testing {

/// Generator of a graph @main with one operation that has an index. The outputs are "i", the index, and "y",
/// the result.
class RandomIndices {
 public:
  explicit RandomIndices(uint64_t seed) : random_(seed), graph_(module_->add_graph("main")), b_(graph_) {
    module_->symbols.bound({"T"}, kMostRows);
  }

  static constexpr int64_t kMostRows = 9;

  std::unique_ptr<Module> make() {
    static constexpr Op kOps[] = {Op::gather, Op::scatter_add, Op::scatter, Op::insert};
    const Op op = kOps[below(4)];
    rows_ = chance(30) ? Dim::symbol("T") : Dim(1 + below(kMostRows));
    if (op == Op::insert)
      insert();
    else
      by_rows(op);
    return std::move(module_);
  }

  /// Returns random inputs. Integers are in the range that an input declares, if it declares one.
  static Tensors inputs(const Graph& graph, const SymbolValues& symbols, std::mt19937_64& random) {
    Tensors made;
    for (const Node* input : graph.inputs()) {
      const Type& type = input->result()->type;
      Tensor tensor{type.dtype, {}, {}};
      int64_t count = 1;
      for (const Dim& dim : type.shape)
        tensor.shape.push_back(dim.evaluate(symbols)), count *= tensor.shape.back();
      for (int64_t i = 0; i < count; ++i) tensor.data.push_back(number(*input, random));
      made[input->get(attr::name)] = std::move(tensor);
    }
    return made;
  }

 private:
  // ---- choices

  int64_t below(int64_t count) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(count)); }
  bool chance(int percent) { return below(100) < percent; }

  /// Returns a random element of an input. Integers without a declared range are mostly valid rows, sometimes
  /// slightly too large and sometimes far out of bounds.
  static double number(const Node& input, std::mt19937_64& random) {
    static constexpr double kFar[] = {-1, -2, 100, -100000, 1e8, -1e8, 2147483647, -2147483648.0};
    const auto below = [&](uint64_t count) { return static_cast<int64_t>(random() % count); };
    if (is_float(input.result()->dtype())) return static_cast<double>(below(400)) / 8 - 20;
    if (const auto ids = id_range(input)) {
      if (ids->ignored && below(4) == 0) return static_cast<double>(*ids->ignored);
      return static_cast<double>(ids->least + below(static_cast<uint64_t>(ids->below - ids->least)));
    }
    return below(4) == 0 ? kFar[below(8)] : static_cast<double>(below(kMostRows + 2));
  }

  Shape any_shape(int64_t most_rank) {
    Shape shape;
    for (int64_t rank = below(most_rank + 1); rank > 0; --rank)
      shape.push_back(chance(25) ? Dim::symbol("T") : Dim(1 + below(4)));
    return shape;
  }

  // ---- indices

  /// Returns a leaf of an expression: a constant, an iota, an input, an argmax and the like.
  Value* leaf(const Shape& shape) {
    const Type type{DType::i32, shape};
    switch (below(7)) {
      case 0:
        return b_.constant(static_cast<double>(below(kMostRows + 4) - 2), type);
      case 1:
        return table(type);
      case 2:
        return shape.empty() ? input(type) : b_.iota(type, below(static_cast<int64_t>(shape.size())));
      case 3:
        return chance(50) ? of_columns(shape) : b_.random(shape, module_->next_random_id());
      case 4:
        return b_.convert(input({DType::f32, shape}), DType::i32);
      default:
        return input(type);
    }
  }

  /// A table of constants, or an input if the shape is symbolic.
  Value* table(const Type& type) {
    const auto count = element_count(type.shape).constant();
    if (!count) return input(type);
    std::vector<double> values;
    for (int64_t i = 0; i < *count; ++i)
      values.push_back(chance(5) ? 1e6 : static_cast<double>(below(kMostRows + 1)) - (chance(5) ? 2 : 0));
    return b_.table(std::move(values), type);
  }

  Value* input(const Type& type) {
    Value* value = b_.input("x" + std::to_string(inputs_++), type);
    if (is_float(type.dtype) || chance(50)) return value;
    IdRange range{1 + below(kMostRows + 2)};
    if (chance(30)) range.ignored = chance(50) ? -1 : -100;
    if (chance(20)) range.least = -below(3);
    set_id_range(*value->node(), range);
    return value;
  }

  /// The index of the largest element along a new last axis.
  Value* of_columns(Shape shape) {
    shape.push_back(1 + below(kMostRows));
    Value* columns = input({DType::f32, shape});
    if (chance(50)) return b_.reduce_node(ReduceOp::argmax, columns, {columns->rank() - 1})->result(1);
    Node* top = b_.top_k(columns, 1);
    return b_.reshape(top->result(1), Shape(shape.begin(), shape.end() - 1));
  }

  Value* number(Value* like, int64_t least, int64_t most) {
    return b_.like(like, static_cast<double>(least + below(most - least + 1)));
  }

  /// Returns a random integer expression with at most `depth` levels of operations above the leaves.
  Value* index(const Shape& shape, int depth) {
    if (depth == 0 || chance(20)) return leaf(shape);
    Value* x = index(shape, depth - 1);
    switch (below(15)) {
      case 10:
        return b_.pointwise(chance(70) ? ScalarOp::abs : ScalarOp::sign, {x});
      case 11:
        return from_behind(x);
      case 12:
        return b_.convert(reals(x), DType::i32);
      case 13:
        return running(x);
      case 14:
        return bucket(x);
      case 0:
        return b_.add(x, number(x, -3, 3));
      case 1:
        return b_.sub(x, index(shape, depth - 1));
      case 2:
        return b_.mul(x, number(x, -2, 3));
      case 3:
        return b_.div(x, number(x, 1, 4));
      case 4:
        return b_.min(x, number(x, 0, kMostRows));
      case 5:
        return b_.max(x, number(x, -1, 2));
      case 6:
        return b_.neg(x);
      case 7:
        return chosen(x, index(shape, depth - 1));
      case 8:
        return b_.max(b_.min(x, number(x, 0, kMostRows - 1)), number(x, 0, 1));
      default:
        return b_.add(x, index(shape, depth - 1));
    }
  }

  Value* chosen(Value* x, Value* y) {
    Value* condition = comparison(x, y);
    if (chance(30))
      condition = b_.pointwise(chance(60) ? ScalarOp::logical_and : ScalarOp::logical_or,
                               {condition, comparison(chance(50) ? x : y, x)});
    if (chance(10)) condition = b_.pointwise(ScalarOp::logical_not, {condition});
    if (chance(30)) x = b_.add(x, number(x, -2, 2));
    return chance(50) ? b_.select(condition, x, y) : b_.select(condition, y, x);
  }

  /// A comparison of x with a constant or with y.
  Value* comparison(Value* x, Value* y) {
    static constexpr ScalarOp kComparisons[] = {ScalarOp::eq, ScalarOp::ne, ScalarOp::lt,
                                                ScalarOp::le, ScalarOp::gt, ScalarOp::ge};
    Value* against = chance(70) ? number(x, -1, kMostRows) : y;
    return b_.pointwise(kComparisons[below(6)], {chance(80) ? x : against, against});
  }

  /// Adds a constant to negative indices, as for indices that count from the end.
  Value* from_behind(Value* x) {
    return b_.select(b_.pointwise(ScalarOp::lt, {x, b_.like(x, 0)}), b_.add(x, number(x, 1, kMostRows)), x);
  }

  /// Floating-point arithmetic, whose results are rarely integers.
  Value* reals(Value* x) {
    static constexpr ScalarOp kFunctions[] = {ScalarOp::sqrt,  ScalarOp::log, ScalarOp::floor,
                                              ScalarOp::neg,   ScalarOp::abs, ScalarOp::sigmoid,
                                              ScalarOp::log1p, ScalarOp::tanh};
    Value* y = b_.convert(x, DType::f32);
    if (chance(70)) y = b_.min(b_.max(y, b_.like(y, chance(50) ? 1 : -2)), b_.like(y, 20));
    for (int64_t steps = below(3); steps > 0; --steps) {
      const ScalarOp op = kFunctions[below(8)];
      if (info(op).above > -2) y = b_.add(b_.pointwise(ScalarOp::abs, {y}), b_.like(y, 0.1));  // no NaN
      y = b_.pointwise(op, {y});
      if (chance(70)) y = b_.mul(y, b_.like(y, 0.7 * static_cast<double>(below(7) - 2)));
      if (chance(50)) y = b_.add(y, b_.like(y, 0.3 + static_cast<double>(below(3))));
    }
    return y;
  }

  /// Bucket of a relative position: numbers below a limit are unchanged, and larger ones become logarithms.
  Value* bucket(Value* x) {
    const auto limit = static_cast<double>(1 + below(5));
    Value* y = b_.pointwise(
        ScalarOp::log, {b_.div(b_.convert(x, DType::f32), b_.constant(limit, {DType::f32, x->shape()}))});
    y = b_.mul(y, b_.like(y, 0.1 + static_cast<double>(below(3))));
    Value* large = b_.add(b_.convert(y, DType::i32), b_.like(x, limit));
    if (chance(70)) large = b_.min(large, number(x, 0, kMostRows));
    return b_.select(b_.pointwise(ScalarOp::lt, {x, b_.like(x, limit)}), x, large);
  }

  /// A running sum or maximum of x, or of flags (x <= constant).
  Value* running(Value* x) {
    if (x->rank() == 0) return x;
    Value* of = chance(60) ? b_.convert(b_.pointwise(ScalarOp::le, {x, number(x, -1, 4)}), DType::i32) : x;
    return b_.scan(chance(80) ? "add" : "max", of, below(x->rank()), chance(30));
  }

  // ---- operations

  Value* data(const Shape& shape) { return b_.input("f" + std::to_string(inputs_++), {DType::f32, shape}); }

  void finish(Value* i, Value* y) { b_.output("i", i), b_.output("y", y); }

  void by_rows(Op op) {
    Shape table = any_shape(2);
    const int64_t axis = below(static_cast<int64_t>(table.size()) + 1);
    Shape updates = table;
    table.insert(table.begin() + axis, rows_);
    Value* i = index(any_shape(2), static_cast<int>(below(5)));
    if (op == Op::gather) return finish(i, b_.gather(data(table), i, axis));
    updates.insert(updates.begin() + axis, i->shape().begin(), i->shape().end());
    Value *into = data(table), *from = data(updates);
    finish(i, op == Op::scatter ? b_.scatter(into, i, from, axis) : b_.scatter_add(into, i, from, axis));
  }

  /// An insert, with an index for each element of the axis.
  void insert() {
    Shape leading = any_shape(1);
    leading.push_back(rows_);
    leading.push_back(1 + below(3));
    const auto axis = static_cast<int64_t>(leading.size()) - 2;
    Shape value = leading;
    value[static_cast<size_t>(axis)] = 1 + below(4);
    Value* i = index(Shape(value.begin(), value.end() - 1), static_cast<int>(below(5)));
    finish(i, b_.insert(data(leading), data(value), {i}, {axis}));
  }

  std::mt19937_64 random_;
  std::unique_ptr<Module> module_ = std::make_unique<Module>();
  Graph& graph_;
  GraphBuilder b_;
  Dim rows_;
  int inputs_ = 0;
};

}  // namespace smelt::testing
