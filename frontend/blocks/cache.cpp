// Keys and values of tokens that were read before, in states that the next run finds.
#include <fmt/format.h>

#include "frontend/blocks/blocks.h"
#include "frontend/blocks/token_choice.h"
#include "frontend/tensor_parallel.h"

namespace smelt {
namespace {

/// The state of that name: [slots,capacity,...], all zeros at first, for as long rows of x.
void declare(BlockBuilder& b, const Cache& cache, const std::string& name, const Type& x) {
  Type all = x;
  all.shape[0] = cache.slots, all.shape[1] = cache.capacity;
  declare_cache(b, name, all);
}

/// Returns one index for slot and position, [B,T], so that no other element of the state is read.
Value* line_index(GraphBuilder& g, Value* slots, Value* places, const Dim& capacity) {
  return g.add(g.mul(slots, g.like(slots, static_cast<double>(*capacity.constant()))), places);
}

}  // namespace

Value* lines_of(GraphBuilder& g, Value* state) {
  const Shape& all = state->shape();
  Shape lines = {all[0] * all[1]};
  lines.insert(lines.end(), all.begin() + 2, all.end());
  return g.reshape(state, std::move(lines));
}

void declare_state(BlockBuilder& b, std::string_view name, Role role, DType dtype, Shape shape) {
  Module& module = b.graph.module();
  if (!module.find_state(name))
    module.states.push_back(
        {.name = std::string(name), .role = role, .dtype = dtype, .shape = std::move(shape), .init = {}});
}

void declare_cache(BlockBuilder& b, const std::string& name, const Type& type) {
  declare_state(b, name, Role::cache, type.dtype, type.shape);
  Module& module = b.graph.module();
  module.find_state(name)->cut = heads_of_cache(type.shape, module.mesh());
}

std::string cache_name(const Place& place) {
  return std::string(kCachePrefix) + fmt::format(fmt::runtime(place.role), place.block);
}

namespace {

/// States keep scales [...,heads] as numbers of width 1, so that every state of a cache has four dims.
Value* as_numbers(GraphBuilder& g, Value* scales) {
  Shape shape = scales->shape();
  shape.push_back(1);
  return g.reshape(scales, std::move(shape));
}
Value* as_scales(GraphBuilder& g, Value* numbers) {
  const Shape& shape = numbers->shape();
  return g.reshape(numbers, {shape.begin(), shape.end() - 1});
}

/// Appends x to the batch's rows in the state of this name, and returns the content of the rows. Scales lose
/// their width before rows are gathered, so that attention may follow the indices.
Value* keep(BlockBuilder& b, const Cache& cache, const std::string& name, Value* x, bool are_scales = false) {
  GraphBuilder& g = b.graph;
  if (are_scales) x = as_numbers(g, x);
  const auto seen = [&](Value* all) { return are_scales ? as_scales(g, all) : all; };
  if (cache.pages > 0) {
    Value* lines = seen(remember_in_pages(b, cache, name, x));
    return cache.queries ? lines : g.gather(lines, cache.lines);
  }
  declare(b, cache, name, x->type);
  Value* begin = cache.past ? cache.past : g.constant(0, {DType::i32, {}});
  if (cache.new_places) begin = cache.new_places;
  Value* all = g.insert(g.state(name), x, {cache.rows, begin}, {0, 1});
  g.update(name, all);
  if (!cache.row_of_place) return seen(g.slice(all, 0, 0, x->shape()[0]));
  Value* places = g.iota(cache.row_of_place->type, 1);
  return g.gather(seen(lines_of(g, all)), line_index(g, cache.row_of_place, places, all->shape()[1]));
}

bool has_codes(const BlockBuilder& b, const Value* x) {
  return b.cache_codes != CacheCodes::none && is_float(x->dtype());
}

std::string name_of_scales(const std::string& name) { return name + ".scales"; }

}  // namespace

Cached remember(BlockBuilder& b, const Cache& cache, const Place& place, Value* x) {
  const std::string name = cache_name(place);
  if (!has_codes(b, x)) {
    if (is_float(x->dtype())) x = b.graph.convert(x, b.cache_type);
    return {keep(b, cache, name, x)};
  }
  const Cached made = coded(b.graph, x, b.cache_codes);
  Value* codes = keep(b, cache, name, made.numbers);
  return {codes, keep(b, cache, name_of_scales(name), made.scales, true)};
}

Cached recall(BlockBuilder& b, const Cache& cache, const Place& place) {
  const auto rows = [&](const std::string& name) {
    return b.graph.slice(b.graph.state(name), 0, 0, cache.rows->shape()[0]);
  };
  const std::string name = cache_name(place), scales = name_of_scales(name);
  if (!b.graph.module().find_state(scales)) return {rows(name)};
  return {rows(name), as_scales(b.graph, rows(scales))};
}

/// A ring has fewer places than a row has tokens.
void move_rows(BlockBuilder& b, const std::string& name, Value* from, Value* to, Value* places) {
  GraphBuilder& g = b.graph;
  g.set_source(name);
  Value* state = g.state(name);
  const Shape rows = {from->shape()[0], places->shape()[0]};
  const int64_t count = *state->shape()[1].constant();
  Value *read = places, *written = places;
  if (g.module().symbols.upper(places->shape()[0]) > count) {
    Value* is_there = g.lt(places, g.like(places, static_cast<double>(count)));
    read = within(g, places, count), written = g.select(is_there, places, g.like(places, -1));
  }
  Value* index = line_index(g, g.broadcast(from, {0}, rows), g.broadcast(read, {1}, rows), state->shape()[1]);
  Value* moved = g.gather(lines_of(g, state), index);
  g.update_at(name, moved, {to, g.broadcast(written, {1}, rows)}, {0, 1});
}

}  // namespace smelt
