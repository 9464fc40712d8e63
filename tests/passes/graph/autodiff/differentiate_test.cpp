// Reverse mode against dual numbers, op by op and composite by composite.
#include "passes/graph/autodiff/differentiate.h"

#include "tests/passes/support.h"

namespace smelt {
namespace {

using testing::count;
using testing::expect_gradients;

/// A module with one graph @g whose output "f" is a weighted sum of what a function builds.
struct Case {
  Module module;
  Graph* graph = &module.add_graph("g");
  GraphBuilder b{*graph};

  Value* parameter(const std::string& name, Shape shape) {
    return b.parameter(Module::Parameter{name, {DType::f32, std::move(shape)}, {}, true, {}, false});
  }
  Value* input(const std::string& name, Type type) { return b.input(name, std::move(type)); }
  /// f = sum of all elements of y, each with a weight of its own.
  void finish(llvm::ArrayRef<Value*> values) {
    Value* f = nullptr;
    for (Value* y : values) {
      Value* weights = input("weights." + std::to_string(weights_++), y->type);
      std::vector<int64_t> axes;
      for (int64_t i = 0; i < y->rank(); ++i) axes.push_back(i);
      Value* product = b.mul(y, weights);
      Value* sum = axes.empty() ? product : b.sum(product, axes);
      f = f ? b.add(f, sum) : sum;
    }
    b.output("f", f);
  }
  int weights_ = 0;
};

class ScalarOps : public ::testing::TestWithParam<int> {};

TEST_P(ScalarOps, EqualDualNumbers) {
  const auto op = static_cast<ScalarOp>(GetParam());
  Case c;
  const Shape shape = {3, 31};
  Value *x = c.parameter("x", shape), *y = c.parameter("y", shape);
  if (!info(op).differentiable) {
    const bool logical = info(op).domain == Domain::flags;
    Value* zero = c.b.like(x, 0);
    Value *left = logical ? c.b.gt(x, zero) : x, *right = logical ? c.b.gt(y, zero) : y;
    Value* flat = info(op).arity == 1 ? c.b.pointwise(op, {left}) : c.b.pointwise(op, {left, right});
    c.finish({c.b.mul(c.b.convert(flat, DType::f32), y)});
    return expect_gradients(*c.graph, "f");  // constant to differentiation, and so are dual numbers
  }
  if (std::isfinite(info(op).above)) x = c.b.add(c.b.abs(x), c.b.like(x, info(op).above));
  if (info(op).domain == Domain::choice)
    c.finish({c.b.select(c.b.gt(x, y), x, y)});
  else if (info(op).arity == 1)
    c.finish({c.b.pointwise(op, {x})});
  else
    c.finish({c.b.pointwise(op, {x, y}), c.b.pointwise(op, {x, x})});
  if (info(op).idempotent) return expect_gradients(*c.graph, "f", {}, 3);
  expect_gradients(*c.graph, "f");
}

#define SMELT_ONE(...) +1
constexpr int kScalarOps = 0 SMELT_SCALAR_OPS(SMELT_ONE);
#undef SMELT_ONE
INSTANTIATE_TEST_SUITE_P(All, ScalarOps, ::testing::Range(0, kScalarOps),
                         [](const auto& p) { return std::string(name(static_cast<ScalarOp>(p.param))); });

TEST(Differentiate, Reductions) {
  for (ReduceOp op : {ReduceOp::add, ReduceOp::max, ReduceOp::min, ReduceOp::first})
    for (const std::vector<int64_t>& axes : {std::vector<int64_t>{0}, {1}, {2}, {0, 2}, {0, 1, 2}}) {
      Case c;
      c.finish({c.b.reduce(op, c.parameter("x", {3, 7, 5}), axes)});
      expect_gradients(*c.graph, "f");
    }
}

TEST(Differentiate, APivot) {
  for (const std::vector<int64_t>& axes : {std::vector<int64_t>{0}, {1}, {2}, {0, 2}, {0, 1, 2}}) {
    Case c;
    c.finish({c.b.reduce(ReduceOp::pivot, c.parameter("x", {6, 4, 5}), axes)});
    expect_gradients(*c.graph, "f");
  }
}

TEST(Differentiate, ReductionsWithTwoResults) {
  Case c;
  Value* x = c.parameter("x", {3, 33});
  const Node* pair = c.b.reduce_node(ReduceOp::max_sumexp, x, {1});
  const Node* largest = c.b.reduce_node(ReduceOp::argmax, x, {1});
  c.finish({pair->result(0), pair->result(1), c.b.log(pair->result(1)), largest->result(0)});
  expect_gradients(*c.graph, "f");
}

TEST(Differentiate, MeanAndVariance) {
  for (const unsigned only : {0u, 1u, 2u})
    for (const std::vector<int64_t>& axes : {std::vector<int64_t>{0}, {1}, {0, 1}}) {
      Case c;
      const Node* moments = c.b.reduce_node(ReduceOp::mean_variance, c.parameter("x", {3, 7}), axes);
      std::vector<Value*> wanted;
      for (unsigned i = 0; i < 2; ++i)
        if (only == 2 || only == i) wanted.push_back(moments->result(i));
      c.finish(wanted);
      expect_gradients(*c.graph, "f");
    }
}

TEST(Differentiate, OnlyTheSumOfMaxSumexp) {
  Case c;
  c.finish({c.b.reduce_node(ReduceOp::max_sumexp, c.parameter("x", {3, 33}), {1})->result(1)});
  expect_gradients(*c.graph, "f");
}

TEST(Differentiate, TiesShareTheGradientOfAMaximum) {
  Case c;
  Value* x = c.parameter("x", {4});
  c.b.output("f", c.b.reduce(ReduceOp::max, x, {0}));
  differentiate(*c.graph, {"f", {}, 1});
  const Tensors states = {{"x", {DType::f32, {4}, {2, 5, 5, 1}}}};
  const Tensor gradient = evaluate(*c.graph, {}, states, {}).outputs.at("grad.x");
  EXPECT_EQ(gradient.data, (std::vector<double>{0, 0.5, 0.5, 0}));
}

TEST(Differentiate, AnArgmaxPassesTheGradientToItsPlace) {
  Case c;
  Value* x = c.parameter("x", {5});
  c.b.output("f", c.b.reduce_node(ReduceOp::argmax, x, {0})->result(0));
  differentiate(*c.graph, {"f", {}, 1});
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double largest : {5.0, nan}) {
    const Tensors states = {{"x", {DType::f32, {5}, {2, largest, largest, 1, 5}}}};
    const Tensor gradient = evaluate(*c.graph, {}, states, {}).outputs.at("grad.x");
    EXPECT_EQ(gradient.data, (std::vector<double>{0, 1, 0, 0, 0}));
  }
}

TEST(Differentiate, AnArgmaxOverSeveralAxes) {
  Case c;
  c.finish({c.b.reduce_node(ReduceOp::argmax, c.parameter("x", {3, 5, 4}), {0, 2})->result(0)});
  expect_gradients(*c.graph, "f");
}

TEST(Differentiate, TiesOfTwoShareTheGradient) {
  for (ScalarOp op : {ScalarOp::max, ScalarOp::min}) {
    Case c;
    Value *x = c.parameter("x", {3}), *y = c.parameter("y", {3});
    c.b.output("f", c.b.sum(c.b.pointwise(op, {x, y}), {0}));
    differentiate(*c.graph, {"f", {}, 1});
    const Tensors states = {{"x", {DType::f32, {3}, {1, 2, 3}}}, {"y", {DType::f32, {3}, {2, 2, 2}}}};
    const auto outputs = evaluate(*c.graph, {}, states, {}).outputs;
    const double low = op == ScalarOp::max ? 0 : 1;
    EXPECT_EQ(outputs.at("grad.x").data, (std::vector<double>{low, 0.5, 1 - low}));
    EXPECT_EQ(outputs.at("grad.y").data, (std::vector<double>{1 - low, 0.5, low}));
  }
}

/// A value whose parts have another derivative, or none.
TEST(Differentiate, SlopesReplaceAValuesOwnDerivative) {
  Case c;
  Value *x = c.parameter("x", {2}), *y = c.parameter("y", {2});
  Value* value = c.b.sqrt(c.b.mul(x, y));
  Value* made = c.b.create(Op::with_slopes, {value, x, c.b.like(x, 3), y, x})->result();
  c.b.output("f", c.b.sum(made, {0}));
  differentiate(*c.graph, {"f", {}, 1});
  decompose(*c.graph, {});
  const Tensors states = {{"x", {DType::f32, {2}, {0, 4}}}, {"y", {DType::f32, {2}, {0, 9}}}};
  const auto outputs = evaluate(*c.graph, {}, states, {}).outputs;
  EXPECT_EQ(outputs.at("f").data, (std::vector<double>{6}));
  EXPECT_EQ(outputs.at("grad.x").data, (std::vector<double>{3, 3}));
  EXPECT_EQ(outputs.at("grad.y").data, (std::vector<double>{0, 4}));
}

TEST(Differentiate, Shapes) {
  Case c;
  Value* x = c.parameter("x", {3, 5, 7});
  Value* row = c.parameter("row", {5});
  c.finish({c.b.reshape(x, {15, 7}), c.b.transpose(x, {2, 0, 1}), c.b.broadcast(row, {1}, {3, 5, 7}),
            c.b.broadcast_over(x, {1, 3}, {3, 2, 5, 4, 7}),
            c.b.convert(c.b.convert(x, DType::f64), DType::f32), c.b.concat({x, x}, 1)});
  expect_gradients(*c.graph, "f");
}

TEST(Differentiate, SlicesThatTileAValueGetOneConcat) {
  Case c;
  Value* x = c.parameter("x", {3, 12});
  Value* y = c.b.exp(x);
  c.finish({c.b.slice(y, 1, 7, 5), c.b.slice(y, 1, 0, 4), c.b.slice(y, 1, 4, 3)});
  expect_gradients(*c.graph, "f");
  differentiate(*c.graph, {"f", {}, 1});
  EXPECT_EQ(count(*c.graph, Op::concat), 1u) << print(*c.graph);
}

TEST(Differentiate, SlicesWithGapsAndOverlaps) {
  Case c;
  Value* x = c.parameter("x", {3, 12});
  c.finish({c.b.slice(x, 1, 7, 5), c.b.slice(x, 1, 2, 6), c.b.slice(x, 0, 1, 2), c.b.slice(x, 1, 0, 2)});
  expect_gradients(*c.graph, "f");
}

TEST(Differentiate, SymbolicSlices) {
  Case c;
  const Dim t = Dim::symbol("T");
  c.module.symbols.bound({"T"}, 8);
  Value* x = c.b.broadcast_over(c.parameter("x", {4}), {1}, {4, t + t});
  Value* y = c.b.mul(x, c.b.convert(c.b.iota({DType::i32, x->shape()}, 1), DType::f32));
  c.finish({c.b.slice(y, 1, 0, t), c.b.slice(y, 1, t, t)});
  EvaluateOptions options;
  options.symbols = {{"T", 3}};
  expect_gradients(*c.graph, "f", options);
}

TEST(Differentiate, GatherAndScatter) {
  Case c;
  Value* table = c.parameter("table", {7, 5});
  Value* updates = c.parameter("updates", {2, 3, 5});
  Value* indices = c.input("indices", {DType::i32, {2, 3}});
  c.finish({c.b.gather(table, indices, 0), c.b.scatter_add(c.b.exp(table), indices, updates, 0)});
  expect_gradients(*c.graph, "f");
}

TEST(Differentiate, GatherAlongAnotherAxis) {
  Case c;
  c.finish({c.b.gather(c.parameter("table", {3, 7}), c.input("indices", {DType::i32, {4}}), 1)});
  expect_gradients(*c.graph, "f");
}

TEST(Differentiate, MatmulByLetters) {
  struct Row {
    const char* spec;
    Shape a, b;
  };
  const Row rows[] = {{"mk,kn->mn", {3, 5}, {5, 7}},
                      {"btc,oc->bto", {2, 3, 5}, {7, 5}},
                      {"bthd,bshd->bhts", {2, 3, 4, 5}, {2, 6, 4, 5}},
                      {"btkgd,bskd->bkgts", {2, 3, 2, 2, 5}, {2, 6, 2, 5}},
                      {"a,b->ba", {3}, {5}},
                      {"k,k->", {33}, {33}}};
  for (const Row& row : rows) {
    Case c;
    c.finish({c.b.matmul(c.parameter("a", row.a), c.parameter("b", row.b), row.spec)});
    expect_gradients(*c.graph, "f");
  }
}

TEST(Differentiate, BodyOfAMatmul) {
  Case c;
  c.finish({c.b.matmul(c.parameter("a", {2, 3, 5}), c.parameter("w", {7, 5}), "btc,oc->bto",
                       {c.parameter("bias", {7})}, [](GraphBuilder& b, llvm::ArrayRef<Value*> inputs) {
                         return b.tanh(b.add(inputs[0], b.broadcast_leading(inputs[1], {2, 3, 7})));
                       })});
  expect_gradients(*c.graph, "f");
}

TEST(Differentiate, StopGradient) {
  Case c;
  Value* x = c.parameter("x", {});
  c.b.output("f", c.b.mul(x, c.b.stop_gradient(c.b.mul(x, x))));
  differentiate(*c.graph, {"f", {}, 1});
  const Evaluation result = evaluate(*c.graph, {}, {{"x", {DType::f32, {}, {3}}}}, {});
  EXPECT_EQ(result.outputs.at("grad.x").data[0], 9);
}

/// Twice the values of `values`, whose gradient is stated: for `x` it is what arrives, times -3.
Node* reversed(GraphBuilder& b, Value* value, Value* x, int64_t id) {
  Value* g = b.create(Op::cotangent, {}, {attr::id(id)}, x->type)->result();
  Value* gradient = b.mul(g, b.like(g, -3));
  return b.create(Op::custom_vjp, {value, g, x, gradient}, {attr::results(1)});
}

TEST(Differentiate, AStatedDerivativeReplacesThatOfTheValue) {
  Case c;
  Value *x = c.parameter("x", {}), *w = c.parameter("w", {});
  Value* y = reversed(c.b, c.b.mul(c.b.mul(x, x), w), x, 0)->result();
  c.b.output("f", c.b.mul(y, y));
  differentiate(*c.graph, {"f", {}, 1});
  decompose(*c.graph, {});
  c.graph->prune();
  EXPECT_EQ(count(*c.graph, Op::cotangent) + count(*c.graph, Op::custom_vjp), 0u);
  const Evaluation result =
      evaluate(*c.graph, {}, {{"x", {DType::f32, {}, {3}}}, {"w", {DType::f32, {}, {2}}}}, {});
  EXPECT_EQ(result.outputs.at("f").data[0], 324);
  EXPECT_EQ(result.outputs.at("grad.x").data[0], 36 * -3);  // of y's cotangent 2 * 18
  EXPECT_EQ(result.outputs.at("grad.w").data[0], 0);
}

TEST(Differentiate, AStatedDerivativeMayBeOfSeveralResultsAndNotLinear) {
  Case c;
  Value *x = c.parameter("x", {}), *y = c.parameter("y", {});
  Value* g = c.b.create(Op::cotangent, {}, {attr::id(1)}, x->type)->result();
  Value* h = c.b.create(Op::cotangent, {}, {attr::id(2)}, x->type)->result();
  Value *clipped = c.b.min(g, c.b.like(g, 1)), *both = c.b.add(g, h);
  Node* node =
      c.b.create(Op::custom_vjp, {c.b.exp(x), c.b.exp(y), g, h, x, y, clipped, both}, {attr::results(2)});
  c.b.output("f",
             c.b.add(c.b.mul(node->result(0), c.b.like(x, 5)), c.b.mul(node->result(1), c.b.like(x, 7))));
  differentiate(*c.graph, {"f", {}, 1});
  decompose(*c.graph, {});
  const Evaluation result =
      evaluate(*c.graph, {}, {{"x", {DType::f32, {}, {0}}}, {"y", {DType::f32, {}, {0}}}}, {});
  EXPECT_EQ(result.outputs.at("f").data[0], 12);
  EXPECT_EQ(result.outputs.at("grad.x").data[0], 1);
  EXPECT_EQ(result.outputs.at("grad.y").data[0], 12);
}

TEST(Differentiate, StatedDerivativesFollowOneAnother) {
  Case c;
  Value* x = c.parameter("x", {});
  Value* first = reversed(c.b, c.b.mul(x, x), x, 0)->result();
  c.b.output("f", reversed(c.b, c.b.mul(first, first), first, 1)->result());
  differentiate(*c.graph, {"f", {}, 1});
  decompose(*c.graph, {});
  const Evaluation result = evaluate(*c.graph, {}, {{"x", {DType::f32, {}, {2}}}}, {});
  EXPECT_EQ(result.outputs.at("f").data[0], 16);
  EXPECT_EQ(result.outputs.at("grad.x").data[0], 9);
}

TEST(Differentiate, IndependentParametersGetZeros) {
  Case c;
  Value* x = c.parameter("x", {2});
  c.parameter("unused", {3, 4});
  c.b.output("f", c.b.sum(x, {0}));
  differentiate(*c.graph, {"f", {}, 1});
  const Evaluation result = evaluate(
      *c.graph, {},
      {{"x", {DType::f32, {2}, {3, 4}}}, {"unused", {DType::f32, {3, 4}, std::vector<double>(12, 1)}}}, {});
  EXPECT_EQ(result.outputs.at("grad.unused").data, std::vector<double>(12, 0));
  EXPECT_EQ(result.outputs.at("grad.x").data, std::vector<double>(2, 1));
}

TEST(Differentiate, AParameterReadTwiceGetsTheSum) {
  Case c;
  Value *x = c.parameter("x", {2}), *again = c.parameter("x", {2});
  c.finish({c.b.exp(x), c.b.mul(again, again)});
  expect_gradients(*c.graph, "f");
}

TEST(Differentiate, MarksWhatItMakes) {
  Case c;
  c.b.set_source("here");
  c.b.output("f", c.b.exp(c.parameter("x", {})));
  differentiate(*c.graph, {"f", {}, 1});
  int marked = 0;
  for (const auto& node : c.graph->nodes()) {
    if (node->phase == Phase::forward) continue;
    EXPECT_EQ(node->phase, Phase::backward);
    marked += node->is(ScalarOp::mul) && node->source == "here";
  }
  EXPECT_EQ(marked, 1);
}

TEST(Differentiate, SaysWhatItExpected) {
  Case c;
  c.b.output("f", c.b.exp(c.parameter("x", {3})));
  EXPECT_THROW(differentiate(*c.graph, {"g", {}, 1}), Error);
  EXPECT_THROW(differentiate(*c.graph, {"f", {}, 1}), Error);  // no scalar
  c.b.output("s", c.b.sum(c.graph->outputs[0].value, {0}));
  EXPECT_THROW(differentiate(*c.graph, {"s", {"nobody"}, 1}), Error);
}

// ---- the examples that teach automatic differentiation, in both modes

void expect_both_modes(const Graph& graph, const std::string& output, const Tensors& at,
                       const Tensors& expected) {
  const std::unique_ptr<Module> copy = graph.module().clone();
  Graph& reverse = *copy->find_graph(graph.name);
  std::vector<std::string> names;
  for (const auto& [name, tensor] : expected) names.push_back(name);
  differentiate(reverse, {output, names, 1});
  const Evaluation gradients = evaluate(reverse, at, {}, {});
  for (const auto& [name, tensor] : expected) {
    EXPECT_EQ(gradients.outputs.at("grad." + name).data, tensor.data) << "reverse mode by " << name;
    const DualEvaluation dual = evaluate_dual(graph, at, {}, {{name, {DType::f32, {}, {1}}}}, {});
    EXPECT_EQ(dual.tangent.outputs.at(output).data, tensor.data) << "forward mode by " << name;
  }
}

Tensor number(double value) { return {DType::f32, {}, {value}}; }

TEST(WorkedExamples, ProductOfASum) {
  auto module = parse_module(R"(
graph @g(%x: f32[], %y: f32[], %z: f32[]) {
  %sum = add %x, %y : f32[]
  %f = mul %sum, %z : f32[]
  return f = %f
}
)");
  expect_both_modes(*module->graphs[0], "f", {{"x", number(-2)}, {"y", number(5)}, {"z", number(-4)}},
                    {{"x", number(-4)}, {"y", number(-4)}, {"z", number(3)}});
}

TEST(WorkedExamples, TwoOutputs) {
  auto module = parse_module(R"(
graph @g(%a: f32[], %b: f32[]) {
  %sum = add %a, %b : f32[]
  %difference = sub %a, %b : f32[]
  %y1 = mul %sum, %sum : f32[]
  %y2 = mul %difference, %difference : f32[]
  return y1 = %y1, y2 = %y2
}
)");
  const Tensors at = {{"a", number(2)}, {"b", number(4)}};
  expect_both_modes(*module->graphs[0], "y1", at, {{"a", number(12)}, {"b", number(12)}});
  expect_both_modes(*module->graphs[0], "y2", at, {{"a", number(-4)}, {"b", number(4)}});
}

TEST(WorkedExamples, SharedSubexpressions) {
  // t = x y, u = t + x, f = t u + u: df/dx = y u + (y + 1)(t + 1), df/dy = x u + x (t + 1).
  auto module = parse_module(R"(
graph @g(%x: f32[], %y: f32[]) {
  %t = mul %x, %y : f32[]
  %u = add %t, %x : f32[]
  %v = mul %t, %u : f32[]
  %f = add %v, %u : f32[]
  return f = %f
}
)");
  expect_both_modes(*module->graphs[0], "f", {{"x", number(3)}, {"y", number(2)}},
                    {{"x", number(39)}, {"y", number(48)}});
}

}  // namespace
}  // namespace smelt
