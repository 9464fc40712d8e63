// A cache whose memory is handed out in pages of a few tokens. A row has a list of them, and its tokens lie
// in these one after the other, so rows of any length share one memory, and a page may be several rows'.
#include "frontend/blocks/blocks.h"
#include "runtime/plan/decode_contract.h"

namespace smelt {

Value* lines_of_pages(GraphBuilder& g, Value* table) {
  const Dim rows = table->shape()[0], pages = table->shape()[1];
  const Type each{DType::i32, {rows, pages, kPageTokens}};
  Value* page = g.broadcast(table, {0, 1}, each.shape);
  Value* first = g.mul(page, g.like(page, kPageTokens));
  return g.reshape(g.add(first, g.iota(each, 2)), {rows, pages * kPageTokens});
}

namespace {

/// The page of each row's list in which its place is, [B,T].
Value* page_of_place(GraphBuilder& g, Value* table, Value* place) {
  const int64_t pages = *table->shape()[1].constant();
  Value* number = g.div(place, g.like(place, kPageTokens));
  number = g.min(g.max(number, g.like(number, 0)), g.like(number, static_cast<double>(pages - 1)));
  Value* list = g.mul(g.iota(place->type, 0), g.like(place, static_cast<double>(pages)));
  return g.gather(g.reshape(table, {table->shape()[0] * pages}), g.add(list, number));
}

}  // namespace

Cache paged_cache(BlockBuilder& b, int64_t pages, Value* table, Value* past, const Dim& tokens,
                  Value* lengths) {
  GraphBuilder& g = b.graph;
  const Dim rows = table->shape()[0];
  Cache cache{.slots = pages, .capacity = *table->shape()[1].constant() * kPageTokens};
  cache.rows = g.iota({DType::i32, {rows}}, 0), cache.past = past;
  cache.pages = pages, cache.lines = lines_of_pages(g, table);
  const Type places{DType::i32, {rows, tokens}};
  Value* own = g.iota(places, 1);
  Value* place = g.add(g.broadcast(past, {0}, places.shape), own);
  Value* kept = g.lt(place, g.like(place, static_cast<double>(cache.capacity)));
  if (lengths) kept = g.logical_and(kept, g.lt(own, g.broadcast(lengths, {0}, places.shape)));
  cache.new_pages = g.select(kept, page_of_place(g, table, place), g.like(place, -1));
  Value* size = g.like(place, kPageTokens);
  cache.new_offsets = g.sub(place, g.mul(g.div(place, size), size));
  return cache;
}

Value* remember_in_pages(BlockBuilder& b, const Cache& cache, const std::string& name, Value* x) {
  Type type = x->type;
  type.shape[0] = cache.pages, type.shape[1] = kPageTokens;
  declare_cache(b, name, type);
  Value* all = b.graph.insert(b.graph.state(name), x, {cache.new_pages, cache.new_offsets}, {0, 1});
  b.graph.update(name, all);
  return lines_of(b.graph, all);
}

}  // namespace smelt
