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

/// The best continuations of each row: their sums, with what their ranks take from them, and tokens, [B,k].
struct BestOfRows {
  Value *sums, *tokens;
};

BestOfRows best_of_rows(GraphBuilder& g, Value* scores, const TextChoice& text) {
  const int64_t count = std::min(kBeamCandidates, *scores->shape()[1].constant());
  Node* best = g.top_k(scores, count);
  Value *value = best->result(0), *rank = g.iota(best->result(1)->type, 1);
  const auto of_request = [&](Value* all, int64_t which) {
    return g.broadcast(g.reshape(g.slice(all, 0, which, 1), {}), {}, value->shape());
  };
  Value* taken = g.mul(of_request(text.numbers, kRankPenalty), g.convert(rank, DType::f32));
  Value* before = g.slice(g.state(kBeamSums), 0, 0, scores->shape()[0]);
  Value* sum = g.add(g.broadcast(before, {0}, value->shape()), g.sub(value, taken));
  Value* is_kept = g.logical_and(g.lt(rank, of_request(text.integers, kKeptOfBeam)),
                                 g.lt(g.abs(sum), g.like(sum, -kNoSum)));
  return {g.select(is_kept, sum, g.like(sum, kNoSum)), g.max(best->result(1), g.like(rank, 0))};
}

/// Of the rows of each sentence together: the order is that of rows, then of tokens, where sums are equal.
Candidates best_of_sentences(GraphBuilder& g, const BestOfRows& rows, const Dim& sentences,
                             const Dim& beams) {
  const Dim width = rows.sums->shape()[1];
  Node* best = g.top_k(g.reshape(rows.sums, {sentences, beams * width}), kBeamCandidates);
  Value* index = g.max(best->result(1), g.like(best->result(1), 0));
  Value* beam = g.div(index, g.like(index, static_cast<double>(*width.constant())));
  Value* all = g.broadcast(g.extent(beams * width, DType::i32), {}, index->shape());
  Value* place = g.add(g.mul(g.iota(index->type, 0), all), index);
  Value* tokens = g.gather(g.reshape(rows.tokens, {sentences * beams * width}), place);
  return {best->result(0), beam, tokens};
}

/// A token behind each text of that length; one that has no room is of a run that nobody waits for.
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
  Value* texts = of_rows(g, kTextTokens, choice);
  put_rows(g, kTextTokens, with_token(g, texts, text_lengths(g, choice, text), token));
}

void choose_guided_beams(BlockBuilder& b, Value* logits, const TokenChoice& choice, const TextChoice& text,
                         Value* ends, const Dim& sentences, const Dim& beams) {
  GraphBuilder& g = b.graph;
  g.set_source("next.scores");
  Value* scores = guided_scores(b, log_probabilities(g, logits), choice, text);
  const Candidates found = best_of_sentences(g, best_of_rows(g, scores, text), sentences, beams);
  g.set_source("next.beams");
  const NextBeams next = leave_beams(b, found, fault_of_numbers(g, logits), choice, ends, beams);
  Value* texts = g.gather(g.state(kTextTokens), next.parents);
  put_rows(g, kTextTokens, with_token(g, texts, text_lengths(g, choice, text), next.tokens));
}

}  // namespace smelt
