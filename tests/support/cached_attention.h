// Test graphs of decode attention: a few queries attend to a cache of keys and values, whose length differs
// per row.
#pragma once

#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include "ir/graph/attention_body.h"
#include "runtime/base/half.h"
#include "tests/support/random_tensors.h"

namespace smelt::testing {

/// Sizes and variant of the attention. `keys` is the capacity of the cache.
struct CachedAttention {
  int64_t batch = 3, keys = 777, heads = 4, key_heads = 2, width = 64, queries = 1;
  int64_t most_queries = 0;  // > 0: the number of queries is the symbol T, at most this number
  DType dtype = DType::f32;
  int64_t window = 0;   // > 0: sliding-window attention over this number of keys
  bool ring = false;    // the cache is a ring buffer (sliding-window KV cache)
  bool masked = false;  // keys are masked by an input mask[b,s]
  /// If set, makes keys and values in dtype from the inputs, which are f32.
  std::function<Value*(GraphBuilder&, Value*)> stored = {};
};

/// Returns a graph of causal attention. The first query of row b is at position past[b].
inline std::unique_ptr<Module> module_of(const CachedAttention& cache) {
  auto module = std::make_unique<Module>();
  module->symbols.bound({"B"}, cache.batch);
  GraphBuilder b(module->add_graph("main"));
  const auto heads = [&](const char* name, const Dim& places, int64_t count, DType dtype) {
    return b.input(name, {dtype, {Dim::symbol("B"), places, count, cache.width}});
  };
  const auto kept = [&](const char* name) {
    if (!cache.stored) return heads(name, cache.keys, cache.key_heads, cache.dtype);
    return cache.stored(b, heads(name, cache.keys, cache.key_heads, DType::f32));
  };
  if (cache.most_queries > 0) module->symbols.bound({"T"}, cache.most_queries);
  const Dim queries = cache.most_queries > 0 ? Dim::symbol("T") : Dim(cache.queries);
  Value *q = heads("q", queries, cache.heads, cache.dtype), *k = kept("k"), *v = kept("v");
  AttentionWriter writer(b, q, k, v, 1 / std::sqrt(static_cast<double>(cache.width)));
  Value* past = b.input("past", {DType::i32, {Dim::symbol("B")}});
  writer.place_queries(past);
  Value* fresh = b.broadcast(b.extent(queries, DType::i32), {}, past->shape());
  if (cache.ring) writer.place_keys_in_ring(b.add(past, fresh));
  if (cache.masked) writer.mask_keys(b.input("mask", {DType::i32, {Dim::symbol("B"), cache.keys}}));
  writer.mask_future();
  if (cache.window > 0) writer.mask_past(cache.window);
  b.output("y", writer.finish()->result());
  return module;
}

/// Returns random inputs, rounded to their dtypes. `past` has the position of the first query of each row.
inline Tensors inputs_of(const Module& module, const std::vector<int64_t>& past, int64_t queries = 1) {
  const auto rows = static_cast<int64_t>(past.size());
  Tensors inputs = random_inputs(*module.graphs[0], 3, {{"B", rows}, {"T", queries}});
  inputs.at("past").data.assign(past.begin(), past.end());
  for (auto& [name, tensor] : inputs)
    for (double& x : tensor.data)
      x = tensor.dtype == DType::bf16  ? from_bf16(to_bf16(static_cast<float>(x)))
          : tensor.dtype == DType::f16 ? from_f16(to_f16(static_cast<float>(x)))
                                       : static_cast<float>(x);
  return inputs;
}

}  // namespace smelt::testing
