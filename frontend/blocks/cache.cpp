// Keys and values of tokens that were read before, in states that the next run finds.
#include <fmt/format.h>

#include "frontend/blocks/blocks.h"

namespace smelt {
namespace {

/// The state of that name: [slots,capacity,...], all zeros at first, for as long rows of x.
void declare(BlockBuilder& b, const Cache& cache, const std::string& name, const Type& x) {
  Module& module = b.graph.module();
  if (module.find_state(name)) return;
  Shape shape = x.shape;
  shape[0] = cache.slots, shape[1] = cache.capacity;
  module.states.push_back(
      {.name = name, .role = Role::cache, .dtype = x.dtype, .shape = std::move(shape), .init = {}});
}

}  // namespace

std::string cache_name(const Place& place) {
  return std::string(kCachePrefix) + fmt::format(fmt::runtime(place.role), place.block);
}

Value* remember(BlockBuilder& b, const Cache& cache, const Place& place, Value* x) {
  const std::string name = cache_name(place);
  if (is_float(x->dtype())) x = b.graph.convert(x, b.cache_type);
  declare(b, cache, name, x->type);
  Value* begin = cache.past ? cache.past : b.graph.constant(0, {DType::i32, {}});
  Value* all = b.graph.insert(b.graph.state(name), x, {cache.rows, begin}, {0, 1});
  b.graph.update(name, all);
  return b.graph.slice(all, 0, 0, x->shape()[0]);
}

Value* recall(BlockBuilder& b, const Cache& cache, const Place& place) {
  return b.graph.slice(b.graph.state(cache_name(place)), 0, 0, cache.rows->shape()[0]);
}

void move_rows(BlockBuilder& b, const std::string& name, Value* from, Value* to, Value* places) {
  GraphBuilder& g = b.graph;
  g.set_source(name);
  Value* state = g.state(name);
  const Shape all = state->shape();
  const Shape rows = {from->shape()[0], places->shape()[0]};
  // One index for slot and place: nothing else of the state is read.
  Value* first = g.broadcast(g.mul(from, g.like(from, static_cast<double>(*all[1].constant()))), {0}, rows);
  Value* index = g.add(first, g.broadcast(places, {1}, rows));
  Shape lines = {all[0] * all[1]};
  lines.insert(lines.end(), all.begin() + 2, all.end());
  Value* moved = g.gather(g.reshape(state, lines), index);
  g.update_at(name, moved, {to, g.broadcast(places, {1}, rows)}, {0, 1});
}

}  // namespace smelt
