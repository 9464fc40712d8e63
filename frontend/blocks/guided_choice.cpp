#include "frontend/blocks/guided_choice.h"

#include <limits>

namespace smelt {
namespace {

constexpr double kNoSum = -std::numeric_limits<double>::infinity();

/// Logarithms of probabilities, f32[B,V].
Value* log_probabilities(GraphBuilder& g, Value* logits) {
  Value* scores = in_parts(g, logits);
  const LogSum sum = log_sum(g, logits);
  for (Value* part : {sum.top, sum.log}) scores = g.sub(scores, g.broadcast(part, {0}, scores->shape()));
  return g.reshape(scores, logits->shape());
}

/// NaN for each row that has a logit of that kind, else 0, [B]. An infinite one, of which no probabilities
/// can be made, leaves other beams alone.
Value* fault_of_numbers(GraphBuilder& g, Value* logits) {
  Value* x = in_parts(g, logits);
  Value* is_nan = g.convert(g.ne(x, x), DType::i32);
  Value* any = g.reduce(ReduceOp::max, g.reduce(ReduceOp::max, is_nan, {2}), {1});
  const Type rows{DType::f32, any->shape()};
  Value* nan = g.constant(std::numeric_limits<double>::quiet_NaN(), rows);
  return g.select(g.eq(any, g.like(any, 0)), g.constant(0, rows), nan);
}

/// Those that are no numbers are left out.
Value* finite(GraphBuilder& g, Value* scores) {
  return g.select(g.lt(g.abs(scores), g.like(scores, -kNoSum)), scores, g.like(scores, kNoSum));
}

/// The best of each row alone, each with what its rank takes from it. An infinite score has no rank.
Value* by_rank(GraphBuilder& g, Value* scores, const TextChoice& text) {
  Node* best = g.top_k(finite(g, scores), std::min(kBeamCandidates, *scores->shape()[1].constant()));
  Value *value = best->result(0), *rank = g.iota(best->result(1)->type, 1);
  const Shape& shape = value->shape();
  Value* taken = g.mul(number_of(g, text.numbers, kRankPenalty, shape), g.convert(rank, DType::f32));
  Value* is_kept = g.lt(rank, number_of(g, text.integers, kKeptOfBeam, shape));
  Value* token = g.select(is_kept, best->result(1), g.like(rank, -1));
  Value* all =
      g.insert(with_ones(g, g.like(scores, kNoSum)), with_ones(g, g.sub(value, taken)), {token}, {1});
  return g.reshape(all, scores->shape());
}

/// Returns the sum of each continuation, [B,V].
Value* sums_of_rows(GraphBuilder& g, Value* scores, const TextChoice& text) {
  Value* penalty = number_of(g, text.numbers, kRankPenalty, scores->shape());
  scores = g.select(g.eq(penalty, g.like(penalty, 0)), scores, by_rank(g, scores, text));
  Value* before = g.slice(g.state(state::beam_sums), 0, 0, scores->shape()[0]);
  return finite(g, g.add(g.broadcast(before, {0}, scores->shape()), scores));
}

/// Appends a token after each text of that length; a token without room belongs to a run whose result is
/// unused.
Value* with_token(GraphBuilder& g, Value* texts, Value* length, Value* token) {
  Value* here = g.eq(g.iota(texts->type, 1), g.broadcast(length, {0}, texts->shape()));
  return g.select(here, g.broadcast(token, {0}, texts->shape()), texts);
}

}  // namespace

void choose_guided_tokens(BlockBuilder& b, Value* logits, const TokenChoice& choice, const TextChoice& text) {
  GraphBuilder& g = b.graph;
  g.set_source("next.scores");
  Value* place = g.add(choice.past, g.like(choice.past, 1));
  Value* scores = guided_scores(b, logits, choice, text);
  g.set_source("next.token");
  Value* token = leave_tokens(b, logits, drawn_tokens(g, scores, choice, place), choice, place);
  Value* texts = of_rows(g, state::text_tokens, choice);
  put_rows(g, state::text_tokens, with_token(g, texts, text_lengths(g, choice, text), token));
}

void choose_guided_beams(BlockBuilder& b, Value* logits, const TokenChoice& choice, const TextChoice& text,
                         Value* ends, const Dim& sentences, const Dim& beams) {
  GraphBuilder& g = b.graph;
  g.set_source("next.scores");
  Value* scores = guided_scores(b, log_probabilities(g, logits), choice, text);
  Value* sums = g.reshape(sums_of_rows(g, scores, text), {sentences, beams * logits->shape()[1]});
  const Candidates found = best_candidates(b, sums);
  g.set_source("next.beams");
  const NextBeams next = leave_beams(b, found, fault_of_numbers(g, logits), choice, ends, beams);
  Value* texts = g.gather(g.state(state::text_tokens), next.parents);
  put_rows(g, state::text_tokens, with_token(g, texts, text_lengths(g, choice, text), next.tokens));
}

}  // namespace smelt
