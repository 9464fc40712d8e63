// Sampling of a row's next token from its logits without the host: scores by the options that need no search
// in the text, one token, and the states for the next run.
#include <limits>

#include "frontend/blocks/blocks.h"
#include "frontend/blocks/token_choice.h"

namespace smelt {
namespace {

constexpr double kBanned = -std::numeric_limits<double>::infinity();

Value* spread(GraphBuilder& g, Value* row, const Shape& shape) { return g.broadcast(row, {0}, shape); }

/// A token that its place asks for takes the chosen one's place.
Value* or_forced(GraphBuilder& g, Value* token, const TokenChoice& choice, Value* place) {
  for (int64_t i = 0; i < kForcedTokens; ++i) {
    Value* here = g.eq(place, column(g, choice.forced_at, i));
    token = g.select(here, column(g, choice.forced, i), token);
  }
  return token;
}

/// The divisor of a vocabulary's size that makes the most even parts of at least `least` words; 1: none.
int64_t parts_of(int64_t words, int64_t least) {
  int64_t best = 1;
  for (int64_t parts = 2; parts * least <= words; ++parts)
    if (words % parts == 0) best = parts;
  return best;
}

/// The largest of each row and the sum of exponentials relative to that, of the last axis.
struct ScaledSum {
  Value *top, *sum;
};

ScaledSum scaled_sum(GraphBuilder& g, Value* x) {
  const auto last = static_cast<int64_t>(x->rank()) - 1;
  Value* top = g.reduce(ReduceOp::max, x, {last});
  // If all words are banned, nothing is added.
  Value* base = g.select(g.eq(top, g.like(top, kBanned)), g.like(top, 0), top);
  Value* sum = g.sum(g.exp(g.sub(x, g.broadcast_over(base, {last}, x->shape()))), {last});
  return {top, sum};
}

/// The element of each row that its token names, [B]: the others are made too small to be the largest.
Value* element_of(GraphBuilder& g, Value* logits, Value* token) {
  Value* x = in_parts(g, logits);
  const Type places{DType::i32, x->shape()};
  Value* part = g.iota(places, 1);
  Value* word =
      g.add(g.mul(part, g.like(part, static_cast<double>(*x->shape()[2].constant()))), g.iota(places, 2));
  Value* own = g.select(g.eq(word, spread(g, token, x->shape())), x, g.like(x, kBanned));
  return g.reduce(ReduceOp::max, g.reduce(ReduceOp::max, own, {2}), {1});
}

/// log softmax(logits)[token], [B]. Sums over parts of a row are faster than one over the whole row, as the
/// criterion has.
Value* log_probability(BlockBuilder& b, Value* logits, Value* token) {
  GraphBuilder& g = b.graph;
  if (b.same_bits) return g.neg(g.create(Op::cross_entropy, {logits, token}, {})->result());
  const LogSum sum = log_sum(g, logits);
  return g.sub(g.sub(element_of(g, logits, token), sum.top), sum.log);
}

/// The next token of each row, for its next run.
void leave_token(GraphBuilder& g, Value* word, const TokenChoice& choice) {
  word = with_ones(g, word);
  if (choice.any_slots)
    g.update_at(state::next_token, word, {choice.rows}, {0});
  else
    put_rows(g, state::next_token, word);
}

/// Writes a value of each row at its position in a state [slots,places,1].
void put_at(GraphBuilder& g, std::string_view state, Value* value, const TokenChoice& choice, Value* place) {
  g.update_at(state, with_ones(g, value, 2), {choice.rows, place}, {0, 1});
}

/// Bit 4 i + 2 j + k of each byte is at [...,i,j,k], so a power of two there is a product of three factors.
Value* bits_of(GraphBuilder& g, Value* bytes) {
  const Dim rows = bytes->shape()[0], count = bytes->shape()[1];
  const Type type{DType::i32, {rows, count, 2, 2, 2}};
  const auto factor = [&](int64_t axis, double most) {
    return g.add(g.mul(g.iota(type, axis), g.like(g.iota(type, axis), most - 1)), g.constant(1, type));
  };
  Value* power = g.mul(g.mul(factor(2, 16), factor(3, 4)), factor(4, 2));
  Value* shifted = g.div(g.broadcast(g.convert(bytes, DType::i32), {0, 1}, type.shape), power);
  Value* even = g.mul(g.div(shifted, g.constant(2, type)), g.constant(2, type));
  return g.reshape(g.ne(shifted, even), {rows, count * 8});
}

}  // namespace

Value* decode_input(BlockBuilder& b, const DecodePort& port, const Extents& sizes) {
  const std::string name(port.name);
  b.graph.set_source(name);
  return b.graph.input(name, Type{port.dtype, port.shape.of(sizes)});
}

Value* tokens_or_none(BlockBuilder& b, const DecodePort& port, const Extents& sizes) {
  Value* tokens = decode_input(b, port, sizes);
  set_id_range(*tokens->node(), {.below = b.spec.vocab_size, .ignored = -1});
  return tokens;
}

TokenChoice drawing_inputs(BlockBuilder& b, Value* rows, Value* past) {
  const Extents sizes = {{Extent::rows, rows->shape()[0]}};
  TokenChoice choice{.rows = rows, .past = past};
  choice.numbers = decode_input(b, port::numbers, sizes);
  choice.integers = decode_input(b, port::integers, sizes);
  return choice;
}

TokenChoice token_choice_inputs(BlockBuilder& b, Value* rows, Value* past) {
  const Extents sizes = {{Extent::rows, rows->shape()[0]}};
  TokenChoice choice = drawing_inputs(b, rows, past);
  choice.penalty = decode_input(b, port::penalty, sizes);
  choice.held_back = tokens_or_none(b, port::held_back, sizes);
  choice.held_back_until = decode_input(b, port::held_back_until, sizes);
  choice.forced = tokens_or_none(b, port::forced, sizes);
  choice.forced_at = decode_input(b, port::forced_at, sizes);
  return choice;
}

void begin_choice(BlockBuilder& b) {
  GraphBuilder& g = b.graph;
  const Extents sizes = {{Extent::vocabulary, b.spec.vocab_size}};
  Value* slot = decode_input(b, port::slot, sizes);
  set_id_range(*slot->node(), {.below = *g.state(state::next_bias)->shape()[0].constant()});
  g.update_at(state::next_bias, decode_input(b, port::bias, sizes), {slot}, {0});
  g.update_at(state::next_penalty, with_ones(g, decode_input(b, port::penalties, sizes)), {slot}, {0});
}

void declare_states(BlockBuilder& b, const Extents& sizes,
                    std::initializer_list<std::reference_wrapper<const DecodeState>> states) {
  for (const DecodeState& each : states)
    declare_state(b, each.name, each.role, each.dtype, each.shape.of(sizes));
}

void declare_token_states(BlockBuilder& b, int64_t slots, int64_t capacity) {
  declare_states(
      b, {{Extent::slots, slots}, {Extent::capacity, capacity}, {Extent::vocabulary, b.spec.vocab_size}},
      {state::next_token, state::next_bias, state::next_penalty, state::new_tokens,
       state::new_log_probabilities});
}

Value* with_ones(GraphBuilder& g, Value* x, int64_t count) {
  Shape shape = x->shape();
  shape.insert(shape.end(), static_cast<size_t>(count), 1);
  return g.reshape(x, std::move(shape));
}

Value* column(GraphBuilder& g, Value* x, int64_t i) {
  return g.reshape(g.slice(x, 1, i, 1), {x->shape()[0]});
}

Value* within(GraphBuilder& g, Value* index, int64_t below) {
  return g.min(g.max(index, g.like(index, 0)), g.like(index, static_cast<double>(below - 1)));
}

void put_rows(GraphBuilder& g, std::string_view state, Value* rows) {
  g.update_at(state, rows, {g.scalar(0, DType::i32)}, {0});
}

/// A few rows of a whole vocabulary would keep few multiprocessors busy.
Value* in_parts(GraphBuilder& g, Value* x) {
  constexpr int64_t kLeastPart = 256;
  const int64_t words = *x->shape()[1].constant(), parts = parts_of(words, kLeastPart);
  return g.reshape(x, {x->shape()[0], parts, words / parts});
}

LogSum log_sum(GraphBuilder& g, Value* logits) {
  const ScaledSum each = scaled_sum(g, in_parts(g, logits));
  Value* top = g.reduce(ReduceOp::max, each.top, {1});
  Value* scale = g.exp(g.sub(each.top, g.broadcast_over(top, {1}, each.top->shape())));
  return {top, g.log(g.sum(g.mul(each.sum, scale), {1}))};
}

Value* of_rows(GraphBuilder& g, std::string_view state, const TokenChoice& choice) {
  Value* all = g.state(state);
  const auto slots = *all->shape()[0].constant();
  return choice.any_slots ? g.gather(all, within(g, choice.rows, slots))
                          : g.slice(all, 0, 0, choice.rows->shape()[0]);
}

Value* biased(GraphBuilder& g, Value* scores, const TokenChoice& choice) {
  return g.add(scores, in_parts(g, of_rows(g, state::next_bias, choice)));
}

Value* only_allowed(GraphBuilder& g, Value* scores, Value* allowed) {
  const Shape& shape = scores->shape();
  Value* bits = g.slice(bits_of(g, allowed), 1, 0, shape[1] * shape[2]);
  return g.select(g.reshape(bits, shape), scores, g.like(scores, kBanned));
}

Value* without_held_back(GraphBuilder& g, Value* scores, const TokenChoice& choice, Value* place) {
  Value* tokens = choice.held_back;
  Value* early = g.lt(spread(g, place, tokens->shape()), choice.held_back_until);
  for (int64_t i = 0; i < kForcedTokens; ++i) {
    Value* free = g.ne(place, column(g, choice.forced_at, i));
    early = g.logical_and(early, spread(g, free, tokens->shape()));
  }
  Value* banned = g.select(early, tokens, g.like(tokens, -1));
  Value* none = g.constant(kBanned, {DType::f32, tokens->shape()});
  Value* left = g.insert(with_ones(g, scores), with_ones(g, none), {banned}, {1});
  return g.reshape(left, scores->shape());
}

Value* penalised(GraphBuilder& g, Value* scores, Value* penalties) {
  penalties = g.select(g.eq(penalties, g.like(penalties, 0)), g.like(penalties, 1), penalties);
  Value* negative = g.lt(scores, g.like(scores, 0));
  return g.select(negative, g.mul(scores, penalties), g.div(scores, penalties));
}

/// With the place of the new token among the integers, which draws its random number.
Value* drawn_tokens(GraphBuilder& g, Value* scores, const TokenChoice& choice, Value* place) {
  constexpr auto kPosition = static_cast<double>(DrawInteger::position);
  Value* integers = choice.integers;
  Value* is_position = g.eq(g.iota(integers->type, 1), g.like(integers, kPosition));
  integers = g.select(is_position, spread(g, place, integers->shape()), integers);
  return g.sample(scores, choice.numbers, integers)->result();
}

Value* rows_of_state(BlockBuilder& b, std::string_view name, const Dim& rows, int64_t below) {
  return within(b.graph, b.graph.slice(b.graph.state(name), 0, 0, rows), below);
}

Value* leave_tokens(BlockBuilder& b, Value* logits, Value* token, const TokenChoice& choice, Value* place) {
  GraphBuilder& g = b.graph;
  Value* word = within(g, token, b.spec.vocab_size);
  leave_token(g, word, choice);
  put_at(g, state::new_tokens, token, choice, place);
  put_at(g, state::new_log_probabilities, log_probability(b, logits, word), choice, place);
  return word;
}

void sample_tokens(BlockBuilder& b, Value* logits, const TokenChoice& choice) {
  GraphBuilder& g = b.graph;
  g.set_source("next.scores");
  Value* place = g.add(choice.past, g.like(choice.past, 1));
  Value* penalties = in_parts(g, g.reshape(of_rows(g, state::next_penalty, choice), logits->shape()));
  Value* scores = penalised(g, biased(g, in_parts(g, logits), choice), penalties);
  if (choice.allowed) scores = only_allowed(g, scores, choice.allowed);
  scores = without_held_back(g, g.reshape(scores, logits->shape()), choice, place);
  g.set_source("next.token");
  Value* token = or_forced(g, drawn_tokens(g, scores, choice, place), choice, place);
  put_at(g, state::next_penalty, choice.penalty, choice, leave_tokens(b, logits, token, choice, place));
}

}  // namespace smelt
