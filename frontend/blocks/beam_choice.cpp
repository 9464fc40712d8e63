// A step of a beam search without the host: the best continuations of each sentence, which the host reads
// when it comes to it, and the beams that go on. Nothing of a cache is copied: a table says in whose row each
// place of a beam lies.
#include <limits>

#include "frontend/blocks/token_choice.h"

namespace smelt {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

/// The table of rows, with `own` at the place `past` of each.
Value* with_own_row(GraphBuilder& g, Value* table, Value* past, Value* own) {
  Value* here = g.eq(g.iota(table->type, 1), g.broadcast(past, {0}, table->shape()));
  return g.select(here, g.broadcast(own, {0}, table->shape()), table);
}

/// Returns scores, in parts, that allow only the forced token, where there is one.
Value* forced_alone(GraphBuilder& g, Value* scores, const TokenChoice& choice, Value* place) {
  const Shape& shape = scores->shape();
  const Type places{DType::i32, shape};
  Value* part = g.iota(places, 1);
  Value* words =
      g.add(g.mul(part, g.like(part, static_cast<double>(*shape[2].constant()))), g.iota(places, 2));
  for (int64_t i = 0; i < kForcedTokens; ++i) {
    Value* here = g.broadcast(g.eq(place, column(g, choice.forced_at, i)), {0}, shape);
    Value* is_it = g.eq(words, g.broadcast(column(g, choice.forced, i), {0}, shape));
    Value* alone = g.select(is_it, g.like(scores, 0), g.like(scores, kNever));
    scores = g.select(here, alone, scores);
  }
  return scores;
}

/// Returns the sum of each continuation, [sentences, beams * V].
Value* sums_of(BlockBuilder& b, Value* logits, const TokenChoice& choice, Value* place, const Dim& sentences,
               const Dim& beams) {
  GraphBuilder& g = b.graph;
  Value* scores = in_parts(g, logits);
  const LogSum sum = log_sum(g, logits);
  for (Value* part : {sum.top, sum.log}) scores = g.sub(scores, g.broadcast(part, {0}, scores->shape()));
  scores = forced_alone(g, biased(g, scores, choice), choice, place);
  Value* before = g.slice(g.state(state::beam_sums), 0, 0, logits->shape()[0]);
  scores = g.add(scores, g.broadcast(before, {0}, scores->shape()));
  scores = g.reshape(scores, logits->shape());
  scores = without_held_back(g, scores, choice, place);
  return g.reshape(scores, {sentences, beams * logits->shape()[1]});
}

/// Returns whether each candidate's token is one of its sentence's `ends`, [sentences,kEndTokens].
Value* is_end(GraphBuilder& g, Value* tokens, Value* ends) {
  const Shape pairs = {tokens->shape()[0], tokens->shape()[1], ends->shape()[1]};
  Value* same = g.eq(g.broadcast(tokens, {0, 1}, pairs), g.broadcast(ends, {0, 2}, pairs));
  return g.reduce(ReduceOp::max, g.convert(same, DType::i32), {2});
}

/// NaN where one of a sentence's beams has a fault, else any number, [sentences]: other beams would hide it.
Value* fault_of_sentence(GraphBuilder& g, Value* faults, const Dim& sentences, const Dim& beams) {
  Value* before = g.slice(g.state(state::beam_sums), 0, 0, faults->shape()[0]);
  Value* of_live = g.select(g.gt(before, g.like(before, kNever)), faults, g.like(faults, 0));
  return g.reduce(ReduceOp::max, g.reshape(of_live, {sentences, beams}), {1});
}

Value* with_fault(GraphBuilder& g, Value* sums, Value* fault) {
  Value* all = g.broadcast(fault, {0}, sums->shape());
  return g.select(g.eq(all, all), sums, all);
}

/// Returns the difference of each candidate from the best one of its sentence, unless the best is a sum of
/// replacements for invalid scores. Beams continue with these small numbers, whose sums have small rounding
/// errors; the reader of the candidates adds up the sums of the best ones.
Value* behind_best(GraphBuilder& g, Value* sums) {
  Value* best = g.slice(sums, 1, 0, 1);
  best = g.broadcast(g.reshape(best, {sums->shape()[0]}), {0}, sums->shape());
  return g.sub(sums, g.select(g.lt(g.abs(best), g.like(best, kMostToCountFrom)), best, g.like(best, 0)));
}

/// Which of the next beams each candidate becomes; -1: none.
Value* next_beam(GraphBuilder& g, const Candidates& found, Value* ends, const Dim& beams) {
  Value* ended = is_end(g, found.tokens, ends);
  Value* goes_on = g.sub(g.like(ended, 1), ended);
  Value* rank = g.scan("add", goes_on, 1, true);
  Value* most = g.broadcast(g.extent(beams, DType::i32), {}, rank->shape());
  Value* taken = g.logical_and(g.eq(ended, g.like(ended, 0)), g.lt(rank, most));
  return g.select(taken, within(g, rank, kMostBeamsAhead), g.like(rank, -1));
}

/// Returns the elements of the candidates that become beams, [sentences * beams].
Value* of_beams(GraphBuilder& g, Value* candidates, Value* beam, const Dim& beams, double none) {
  const Dim sentences = candidates->shape()[0];
  // As many places as there may be beams: who reads the index then sees that it is one of them.
  Value* empty = g.constant(none, {candidates->dtype(), {sentences, kMostBeamsAhead, 1}});
  Value* placed = g.insert(empty, with_ones(g, candidates), {beam}, {1});
  return g.reshape(g.slice(placed, 1, 0, beams), {sentences * beams});
}

/// Stores the candidates where the host looks for those of this run: each sentence counts its runs.
void show(BlockBuilder& b, const Candidates& found, Value* fault) {
  GraphBuilder& g = b.graph;
  Value* at = rows_of_state(b, state::candidate_places, found.sums->shape()[0], kCandidateRuns);
  Value* rows = g.iota(at->type, 0);
  const auto put = [&](std::string_view state, Value* x) {
    const Dim sentences = x->shape()[0];
    g.update_at(state, g.reshape(x, {sentences, 1, x->shape()[1]}), {rows, at}, {0, 1});
  };
  put(state::candidate_beams, found.beams);
  put(state::candidate_tokens, found.tokens);
  put(state::candidate_sums, with_fault(g, found.sums, fault));
  Value* is_last = g.eq(at, g.like(at, kCandidateRuns - 1));
  put_rows(g, state::candidate_places, g.select(is_last, g.like(at, 0), g.add(at, g.like(at, 1))));
}

/// Writes single elements of a state [slots].
void put_elements(GraphBuilder& g, std::string_view state, Value* values, Value* slots) {
  Value* all = g.state(state);
  Value* placed = g.insert(with_ones(g, all), with_ones(g, values), {slots}, {0});
  g.update(state, g.reshape(placed, all->shape()));
}

/// The slot of the beam that each row goes on from: its places lie wherever that one's do, and this run's in
/// its row.
Value* rows_of_parents(GraphBuilder& g, const TokenChoice& choice, Value* parents, const Dim& beams) {
  Value *state = g.state(state::beam_rows), *rows = choice.rows;
  Value* width = g.broadcast(g.extent(beams, DType::i32), {}, rows->shape());
  Value* parent = g.add(g.mul(g.div(rows, width), width), parents);
  return within(g, parent, *state->shape()[0].constant());
}

}  // namespace

void declare_beam_states(BlockBuilder& b, int64_t slots, int64_t capacity) {
  declare_states(b, {{Extent::slots, slots}, {Extent::capacity, capacity}},
                 {state::beam_sums, state::beam_rows, state::candidate_places, state::candidate_sums,
                  state::candidate_beams, state::candidate_tokens});
}

void begin_beams(BlockBuilder& b, Value* slots, Value* tokens, Value* sums, int64_t capacity) {
  GraphBuilder& g = b.graph;
  g.update_at(state::next_token, tokens, {slots}, {0});
  put_elements(g, state::next_past, g.like(slots, 0), slots);
  put_elements(g, state::beam_sums, sums, slots);
  Value* own = g.broadcast(slots, {0}, {slots->shape()[0], capacity});
  g.update_at(state::beam_rows, own, {slots}, {0});
}

Value* beam_rows(BlockBuilder& b, const TokenChoice& choice) {
  GraphBuilder& g = b.graph;
  const State& state = *g.module().find_state(state::beam_rows);
  const int64_t slots = *state.shape[0].constant();
  Value* rows = rows_of_state(b, state::beam_rows, choice.rows->shape()[0], slots);
  return with_own_row(g, rows, choice.past, choice.rows);
}

Candidates best_candidates(BlockBuilder& b, Value* sums) {
  GraphBuilder& g = b.graph;
  Node* best = g.top_k(sums, kBeamCandidates);
  Value* index = g.max(best->result(1), g.like(best->result(1), 0));
  Value* words = g.like(index, static_cast<double>(b.spec.vocab_size));
  Value* beam = g.div(index, words);
  return {best->result(0), beam, g.sub(index, g.mul(beam, words))};
}

BestTokens best_tokens(BlockBuilder& b, Value* logits) {
  GraphBuilder& g = b.graph;
  g.set_source("next.candidates");
  Node* best = g.top_k(logits, kBeamCandidates);
  const LogSum sum = log_sum(g, logits);
  Value* scores = best->result(0);
  for (Value* part : {sum.top, sum.log}) scores = g.sub(scores, g.broadcast(part, {0}, scores->shape()));
  return {best->result(1), scores};
}

Value* fault_of_sums(GraphBuilder& g, Value* logits) { return log_sum(g, logits).log; }

NextBeams leave_beams(BlockBuilder& b, const Candidates& found, Value* faults, const TokenChoice& choice,
                      Value* ends, const Dim& beams) {
  GraphBuilder& g = b.graph;
  const Dim sentences = found.sums->shape()[0];
  Value* place = g.add(choice.past, g.like(choice.past, 1));
  show(b, found, fault_of_sentence(g, faults, sentences, beams));
  Value* beam = next_beam(g, found, ends, beams);
  put_rows(g, state::beam_sums, of_beams(g, behind_best(g, found.sums), beam, beams, kNever));
  Value* tokens = of_beams(g, found.tokens, beam, beams, 0);
  put_rows(g, state::next_token, with_ones(g, tokens));
  put_rows(g, state::next_past, place);
  Value* parents = within(g, of_beams(g, found.beams, beam, beams, 0), kMostBeamsAhead);
  parents = rows_of_parents(g, choice, parents, beams);
  Value* table = g.gather(g.state(state::beam_rows), parents);
  put_rows(g, state::beam_rows, with_own_row(g, table, choice.past, parents));
  return {parents, tokens};
}

void choose_beams(BlockBuilder& b, Value* logits, const TokenChoice& choice, Value* ends,
                  const Dim& sentences, const Dim& beams) {
  GraphBuilder& g = b.graph;
  g.set_source("next.scores");
  Value* place = g.add(choice.past, g.like(choice.past, 1));
  const Candidates found = best_candidates(b, sums_of(b, logits, choice, place, sentences, beams));
  g.set_source("next.beams");
  leave_beams(b, found, fault_of_sums(g, logits), choice, ends, beams);
}

}  // namespace smelt
