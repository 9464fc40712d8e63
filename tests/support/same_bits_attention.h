// Test graphs of attention over a cache, for tests that a query has the same bits in every kernel: among all
// queries of a sequence, in a chunk of it, and alone.
#pragma once

#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "ir/graph/attention_body.h"
#include "passes/graph/autodiff/differentiate.h"
#include "runtime/base/half.h"
#include "tests/support/random_tensors.h"

namespace smelt::testing {

/// Sizes of an attention, and the changes of its scores. The cache has more keys than the sequence has
/// queries.
struct SameBitsAttention {
  int64_t batch = 2, queries = 300, keys = 333, key_heads = 1, group = 4, width = 64;
  DType dtype = DType::bf16;
  int64_t window = 0;      // > 0: a sliding window
  bool causal = true;      // queries do not see later keys
  bool masked = false;     // a random half of the keys is hidden, and all of the first 64
  bool documents = false;  // queries see their own document only
  bool distances = false;  // ALiBi
  double cap = 0;          // > 0: soft cap of scores
  double spread = 1;       // of the queries: where it is large, maxima grow by much from tile to tile
  std::string name() const {
    return fmt::format("width {} group {} window {} masked {} documents {} distances {} cap {}", width, group,
                       window, masked, documents, distances, cap);
  }
};

/// Returns the graph y, lse = attention(q, k, v). q has T queries, and the first one of row b is at past[b].
/// T is a symbol, at most the number of queries.
inline std::unique_ptr<Module> module_of(const SameBitsAttention& c) {
  auto module = std::make_unique<Module>();
  module->symbols.bound({"B"}, c.batch), module->symbols.bound({"T"}, c.queries);
  GraphBuilder b(module->add_graph("main"));
  const Dim batch = Dim::symbol("B"), queries = Dim::symbol("T");
  const int64_t heads = c.key_heads * c.group;
  Value* q = b.input("q", {c.dtype, {batch, queries, heads, c.width}});
  Value* k = b.input("k", {c.dtype, {batch, c.keys, c.key_heads, c.width}});
  Value* v = b.input("v", {c.dtype, {batch, c.keys, c.key_heads, c.width}});
  AttentionWriter writer(b, q, k, v, 1 / std::sqrt(static_cast<double>(c.width)));
  writer.place_queries(b.input("past", {DType::i32, {batch}}));
  if (c.cap > 0) writer.cap(c.cap);
  if (c.distances) writer.add_distance(b.input("slopes", {DType::f32, {heads}}));
  if (c.masked) writer.mask_keys(b.input("mask", {DType::i32, {batch, c.keys}}));
  if (c.documents)
    writer.mask_segments(b.input("query_documents", {DType::i32, {batch, queries}}),
                         b.input("key_documents", {DType::i32, {batch, c.keys}}));
  if (c.causal) writer.mask_future();
  if (c.window > 0) writer.mask_past(c.window);
  Node* attention = writer.finish();
  b.output("y", attention->result()), b.output("lse", attention->result(1));
  return module;
}

/// Returns the same graph with the gradients of q, k and v for the gradient w of y, so that the attention
/// also has the rounding residual of y.
inline std::unique_ptr<Module> trained_module_of(const SameBitsAttention& c) {
  auto module = module_of(c);
  Graph& graph = *module->graphs[0];
  GraphBuilder b(graph);
  Value* y = graph.outputs[0].value;
  Value* w = b.input("w", {DType::f32, y->shape()});
  b.output("f", b.sum(b.mul(b.convert(y, DType::f32), w), {0, 1, 2, 3}));
  differentiate(graph, {.output = "f", .wrt = {"q", "k", "v"}, .seed = 1});
  std::erase_if(graph.outputs, [](const Graph::Output& output) { return output.name == "f"; });
  return module;
}

/// Returns random inputs for all queries, whose positions begin with 0.
inline Tensors inputs_of(const SameBitsAttention& c, const Module& module) {
  Tensors inputs = random_inputs(*module.graphs[0], 3, {{"B", c.batch}, {"T", c.queries}});
  for (double& x : inputs.at("q").data) x *= c.spread;
  for (auto& [name, tensor] : inputs)
    for (double& x : tensor.data)
      x = tensor.dtype == DType::bf16  ? from_bf16(to_bf16(static_cast<float>(x)))
          : tensor.dtype == DType::f16 ? from_f16(to_f16(static_cast<float>(x)))
                                       : static_cast<float>(x);
  std::mt19937 random(7);
  std::ranges::fill(inputs.at("past").data, 0.0);
  const auto key_of = [&](size_t i) { return static_cast<int64_t>(i) % c.keys; };
  if (c.masked)
    for (size_t i = 0; i < inputs.at("mask").data.size(); ++i)
      inputs.at("mask").data[i] = key_of(i) >= 64 && random() % 2 == 0;
  if (c.documents) {
    const auto document_of = [](int64_t place) { return static_cast<double>(place / 77); };
    for (size_t i = 0; i < inputs.at("key_documents").data.size(); ++i)
      inputs.at("key_documents").data[i] = document_of(key_of(i));
    for (size_t i = 0; i < inputs.at("query_documents").data.size(); ++i)
      inputs.at("query_documents").data[i] = document_of(static_cast<int64_t>(i) % c.queries);
  }
  return inputs;
}

/// Returns elements [begin, begin + count) along an axis.
inline Tensor part_of(const Tensor& all, size_t axis, int64_t begin, int64_t count) {
  Tensor part = all;
  part.shape[axis] = count, part.data.clear();
  int64_t outer = 1, inner = 1;
  for (size_t i = 0; i < all.shape.size(); ++i) (i < axis ? outer : inner) *= i == axis ? 1 : all.shape[i];
  for (int64_t i = 0; i < outer; ++i) {
    const auto first = all.data.begin() + (i * all.shape[axis] + begin) * inner;
    part.data.insert(part.data.end(), first, first + count * inner);
  }
  return part;
}

/// Returns the inputs of `count` queries from query `begin` on.
inline Tensors chunk_of(const Tensors& inputs, int64_t begin, int64_t count) {
  Tensors chunk = inputs;
  chunk.at("q") = part_of(inputs.at("q"), 1, begin, count);
  if (inputs.contains("query_documents"))
    chunk.at("query_documents") = part_of(inputs.at("query_documents"), 1, begin, count);
  std::ranges::fill(chunk.at("past").data, static_cast<double>(begin));
  return chunk;
}

/// Returns the number of elements of y and lse of a chunk that differ from those of all queries.
inline int64_t differences(const Tensors& all, const Tensors& chunk, int64_t begin) {
  const int64_t count = chunk.at("y").shape[1];
  const Tensor y = part_of(all.at("y"), 1, begin, count), lse = part_of(all.at("lse"), 2, begin, count);
  int64_t different = 0;
  const auto add = [&](const Tensor& a, const Tensor& b) {
    for (size_t i = 0; i < a.data.size(); ++i)
      different += !(a.data[i] == b.data[i] && std::signbit(a.data[i]) == std::signbit(b.data[i]));
  };
  add(y, chunk.at("y")), add(lse, chunk.at("lse"));
  return different;
}

}  // namespace smelt::testing
