// The small layers: weights, norms, linear maps, dropout, activations.
#include <algorithm>
#include <cmath>

#include "frontend/blocks/blocks.h"
#include "frontend/tensor_parallel.h"

namespace smelt {
namespace {

Value* parameter(BlockBuilder& b, const Place& place, std::string_view kind, Shape shape, Initializer init,
                 bool decay) {
  ParameterName names = b.names.parameter(place, kind);
  auto sharding = tensor_parallel(place, kind, shape, b.graph.module().mesh());
  return b.graph.parameter({.name = std::move(names.name),
                            .type = {DType::f32, std::move(shape)},
                            .init = init,
                            .decay = decay,
                            .checkpoint_names = std::move(names.checkpoint_names),
                            .transposed = names.transposed,
                            .sharding = std::move(sharding)});
}

Initializer value(double a) { return {Initializer::Kind::value, a, 0}; }

/// Each block adds twice to the residual stream, whose variance should not grow with depth.
double deviation_of(const TransformerSpec& spec, Into into) {
  if (into != Into::residual || !spec.init.scale_residual) return spec.init.deviation;
  const auto layers = static_cast<double>(std::max(spec.encoder.layers, spec.decoder.layers));
  return spec.init.deviation / std::sqrt(2.0 * layers);
}

}  // namespace

void BlockBuilder::at(const Place& place, std::string_view part) {
  std::string source = names.source(place);
  if (!part.empty()) source += "." + std::string(part);
  graph.set_source(std::move(source));
}

Place Stack::in_block(std::string_view part, int64_t block) const {
  return {std::string(name) + ".{}." + std::string(part), block};
}

Place Stack::part(std::string_view part) const { return {std::string(name) + "." + std::string(part)}; }

Value* weight(BlockBuilder& b, const Place& place, Shape shape, double deviation) {
  b.at(place);
  return parameter(b, place, "weight", std::move(shape), {Initializer::Kind::normal, deviation, 0}, true);
}

Value* norm(BlockBuilder& b, const Place& place, Value* x) {
  const auto& norm = b.spec.norm;
  const Shape shape = {x->shape().back()};
  b.at(place);
  Value* scale = parameter(b, place, "weight", shape, value(norm.zero_centered ? 0 : 1), false);
  if (norm.zero_centered) scale = b.graph.add(scale, b.graph.like(scale, 1));
  llvm::SmallVector<Value*, 3> operands = {x, scale};
  const Op op = norm.kind == NormKind::layer ? Op::layer_norm : Op::rms_norm;
  if (op == Op::layer_norm && norm.bias)
    operands.push_back(parameter(b, place, "bias", shape, value(0), false));
  return b.graph.create(op, operands, {attr::eps(norm.eps)})->result();
}

Value* linear(BlockBuilder& b, const Place& place, Value* x, int64_t out, bool bias, Into into) {
  llvm::SmallVector<Value*, 3> operands = {
      x, weight(b, place, {out, x->shape().back()}, deviation_of(b.spec, into))};
  if (bias) operands.push_back(parameter(b, place, "bias", {out}, value(0), false));
  Value* y = b.graph.create(Op::linear, operands)->result();
  Value* low = adapter(b, place, x, 0, out);
  return with_adapter_slots(b, place, x, low ? b.graph.add(y, low) : y, 0);
}

Value* stacked_linear(BlockBuilder& b, const Place& place, Value* x, int64_t count, int64_t out, bool bias) {
  GraphBuilder& g = b.graph;
  Value* weights = weight(b, place, {count, out, x->shape().back()}, b.spec.init.deviation);
  g.module().find_parameter(weights->node()->get(attr::name))->stacked = true;
  Value* y = g.matmul(x, weights, "btc,soc->btso");
  if (Value* low = adapter(b, place, x, count, out)) y = g.add(y, low);
  y = with_adapter_slots(b, place, x, y, count);
  if (!bias) return y;
  Value* biases = parameter(b, place, "bias", {count, out}, value(0), false);
  g.module().find_parameter(biases->node()->get(attr::name))->stacked = true;
  return g.add(y, g.broadcast_leading(biases, y->shape()));
}

Value* add_bias(BlockBuilder& b, const Place& place, Value* x) {
  b.at(place);
  Value* bias = parameter(b, place, "bias", {x->shape().back()}, value(0), false);
  return b.graph.add(x, b.graph.broadcast_leading(bias, x->shape()));
}

Value* add_offset(BlockBuilder& b, const Place& place, Value* x) {
  b.at(place);
  ParameterName names = b.names.parameter(place, "weight");
  Value* row = b.graph.parameter(
      {.name = std::move(names.name),
       .type = {DType::f32, {1, x->shape().back()}},
       .init = value(0),
       .decay = false,
       .checkpoint_names = std::move(names.checkpoint_names),
       .frozen = true,
       .sharding = tensor_parallel(place, "weight", {1, x->shape().back()}, b.graph.module().mesh())});
  row = b.graph.reshape(b.graph.stop_gradient(row), {x->shape().back()});
  return b.graph.add(x, b.graph.broadcast_leading(row, x->shape()));
}

Value* times(BlockBuilder& b, Value* x, double factor) {
  return factor == 1 ? x : b.graph.mul(x, b.graph.like(x, factor));
}

Value* soft_capped(BlockBuilder& b, Value* x, double cap) {
  if (cap == 0) return x;
  return b.graph.mul(b.graph.tanh(b.graph.mul(x, b.graph.like(x, 1 / cap))), b.graph.like(x, cap));
}

Value* dropout(BlockBuilder& b, Value* x, double p) {
  if (p == 0) return x;
  const int64_t id = b.graph.module().next_random_id();
  return b.graph.create(Op::dropout, {x}, {attr::p(p), attr::id(id)})->result();
}

Value* activate(BlockBuilder& b, Value* x, Activation activation) {
  GraphBuilder& graph = b.graph;
  switch (activation) {
    case Activation::relu:
      return graph.select(graph.le(x, graph.like(x, 0)), graph.like(x, 0), x);  // NaN stays; no slope at 0
    case Activation::gelu_tanh:
      return graph.create(Op::gelu_tanh, {x})->result();
    case Activation::gelu_erf:
      return graph.create(Op::gelu, {x})->result();
    case Activation::silu:
      return graph.create(Op::silu, {x})->result();
    case Activation::quick_gelu:
      return graph.mul(x, graph.sigmoid(graph.mul(x, graph.like(x, 1.702))));
    case Activation::tanh:
      return graph.tanh(x);
  }
  return x;
}

}  // namespace smelt
