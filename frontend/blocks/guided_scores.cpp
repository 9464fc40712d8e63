#include "frontend/blocks/guided_scores.h"

#include <limits>

namespace smelt {
namespace {

constexpr double kForbidden = -std::numeric_limits<double>::infinity();
constexpr double kNoToken = -1;
constexpr int64_t kTail = kMostNgram - 1;  // of the text, which n-grams and phrases may begin with
static_assert(kTail >= kPhraseTokens);

/// Text, and its last tokens in reverse order: i32[B,W], i32[B], i32[B,kTail]; kNoToken before the text.
struct Text {
  Value *tokens, *length, *tail;
};

/// One number of each row.
Value* of_each_row(GraphBuilder& g, Value* row, const Shape& shape) { return g.broadcast(row, {0}, shape); }

/// Returns whether a column of a value [B,W,...] is before an end of its row.
Value* is_before(GraphBuilder& g, const Shape& shape, Value* end) {
  return g.lt(g.iota({DType::i32, shape}, 1), of_each_row(g, end, shape));
}

/// These tokens where the condition holds and the vocabulary has them, else none.
Value* words_where(GraphBuilder& g, Value* condition, Value* tokens, int64_t words) {
  Value* is_word = g.logical_and(g.ge(tokens, g.like(tokens, 0)),
                                 g.lt(tokens, g.like(tokens, static_cast<double>(words))));
  return g.select(g.logical_and(condition, is_word), within(g, tokens, words), g.like(tokens, kNoToken));
}

/// f32[B,V] with values [B,M] in place of the scores of tokens [B,M].
Value* with_scores(GraphBuilder& g, Value* scores, Value* tokens, Value* values) {
  Value* all = g.insert(with_ones(g, scores), with_ones(g, values), {tokens}, {1});
  return g.reshape(all, scores->shape());
}

Value* without(GraphBuilder& g, Value* scores, Value* tokens) {
  return with_scores(g, scores, tokens, g.constant(kForbidden, {DType::f32, tokens->shape()}));
}

Value* tail_of(GraphBuilder& g, Value* tokens, Value* length) {
  const Shape shape = {tokens->shape()[0], kTail};
  Value* back = g.iota({DType::i32, shape}, 1);
  Value* place = g.sub(g.sub(of_each_row(g, length, shape), back), g.like(back, 1));
  Value* token = elements_of_rows(g, tokens, within(g, place, *tokens->shape()[1].constant()));
  return g.select(g.ge(place, g.like(place, 0)), token, g.like(token, kNoToken));
}

// ---- biases

/// Returns whether the text ends as each phrase does before its last token, [B,P].
Value* completes(GraphBuilder& g, const Text& text, Value* before) {
  const Shape shape = {text.length->shape()[0], before->shape()[0], kPhraseTokens};
  Value* token = g.broadcast(g.slice(text.tail, 1, 0, kPhraseTokens), {0, 2}, shape);
  Value* wanted = g.broadcast(before, {1, 2}, shape);
  Value* is_any = g.logical_and(g.eq(wanted, g.like(wanted, kAnyToken)), g.ge(token, g.like(token, 0)));
  Value* unasked = g.eq(wanted, g.like(wanted, kNoToken));
  Value* met = g.logical_or(g.logical_or(unasked, is_any), g.eq(token, wanted));
  Value* all = g.reduce(ReduceOp::min, g.convert(met, DType::i32), {2});
  return g.ne(all, g.like(all, 0));
}

/// A token that its bias forbids has no score, whatever the model gives it.
Value* with_bias(GraphBuilder& g, Value* scores, Value* bias) {
  return g.select(g.eq(bias, g.like(bias, kForbidden)), bias, g.add(scores, bias));
}

/// Returns the bias of the last token of each phrase: its own and those of all phrases that it completes,
/// added in their order, which a reduction does not guarantee.
Value* bias_of_phrases(GraphBuilder& g, Value* own, Value* completed, const TextChoice& text) {
  const Shape& shape = completed->shape();
  Value* each = g.select(completed, g.broadcast(text.biases, {1}, shape), g.like(own, 0));
  for (int64_t i = 0; i < kBiasesOfToken; ++i) {
    Value* with = column(g, text.biased_with, i);
    Value* there = g.broadcast(g.ge(with, g.like(with, 0)), {1}, shape);
    Value* bias = g.gather(each, within(g, with, kBiasedPhrases), 1);
    own = g.add(own, g.select(there, bias, g.like(bias, 0)));
  }
  return own;
}

Value* biased_scores(BlockBuilder& b, Value* scores, const TokenChoice& choice, const TextChoice& text,
                     const Text& found) {
  GraphBuilder& g = b.graph;
  const Dim rows = scores->shape()[0];
  Value* bias = of_rows(g, state::next_bias, choice);
  Value* all = with_bias(g, in_parts(g, scores), in_parts(g, bias));
  all = g.reshape(all, scores->shape());
  Value* last = g.broadcast(text.biased_last, {1}, {rows, kBiasedPhrases});
  Value* word = within(g, last, b.spec.vocab_size);
  Value* own = elements_of_rows(g, bias, word);
  Value* sum = bias_of_phrases(g, own, completes(g, found, text.biased_before), text);
  return with_scores(g, all, last, with_bias(g, elements_of_rows(g, scores, word), sum));
}

// ---- penalties and bans

/// Applies the penalty once per token, even if it occurs several times, because all its positions have the
/// same score.
Value* with_penalty(GraphBuilder& g, Value* scores, Value* tokens, Value* numbers, TextNumber which) {
  Value* before = elements_of_rows(g, scores, g.max(tokens, g.like(tokens, 0)));
  Value* after = penalised(g, before, number_of(g, numbers, which, before->shape()));
  return with_scores(g, scores, tokens, after);
}

/// Returns for each position of a text [B,W] whether the tokens before it, which form an n-gram with its own
/// token, are the last ones of `found`.
Value* follows_tail(GraphBuilder& g, Value* tokens, const Text& found, Value* size) {
  const Shape shape = {tokens->shape()[0], tokens->shape()[1], kTail};
  Value* back = g.iota({DType::i32, shape}, 2);
  Value* place = g.sub(g.sub(g.iota({DType::i32, shape}, 1), back), g.like(back, 1));
  Value* token = elements_of_rows(g, tokens, within(g, place, *shape[1].constant()));
  Value* differs = g.ne(token, g.broadcast(found.tail, {0, 2}, shape));
  Value* counts = g.lt(g.add(back, g.like(back, 1)), g.broadcast(size, {}, shape));
  Value* any = g.reduce(ReduceOp::max, g.convert(g.logical_and(differs, counts), DType::i32), {2});
  return g.eq(any, g.like(any, 0));
}

/// Returns the tokens that would repeat an n-gram of a text [B,W] with `length` tokens, [B,W].
Value* repeated(BlockBuilder& b, Value* tokens, Value* length, const Text& found, Value* size) {
  GraphBuilder& g = b.graph;
  const Shape& shape = tokens->shape();
  Value* all = g.broadcast(size, {}, shape);
  Value* place = g.iota({DType::i32, shape}, 1);
  Value* has_room = g.logical_and(g.ge(g.add(place, g.like(place, 1)), all), g.gt(all, g.like(all, 0)));
  Value* is_there = g.logical_and(is_before(g, shape, length), has_room);
  return words_where(g, g.logical_and(is_there, follows_tail(g, tokens, found, size)), tokens,
                     b.spec.vocab_size);
}

Value* size_of_ngrams(GraphBuilder& g, const TextChoice& text, TextInteger which) {
  return g.reshape(g.slice(text.integers, 0, which, 1), {});
}

Value* without_phrases(GraphBuilder& g, Value* scores, const TextChoice& text, const Text& found) {
  Value* completed = completes(g, found, text.banned_before);
  Value* last = g.broadcast(text.banned_last, {1}, completed->shape());
  return without(g, scores, g.select(completed, last, g.like(last, kNoToken)));
}

// ---- what is asked of every token of the vocabulary

/// Scores [B,parts,V/parts] at work.
struct EveryWord {
  GraphBuilder& g;
  const TextChoice& text;
  Value *length, *scores;

  const Shape& shape() const { return scores->shape(); }
  Value* place(TextPlace which) const { return column(g, text.places, which); }
  Value* like(double value) const { return g.like(scores, value); }
  /// Which tokens are of a kind.
  Value* is(TokenKind kind) const {
    Value* row = in_parts(g, g.slice(g.state(state::text_kinds), 0, kind, 1));
    row = g.reshape(row, {shape()[1], shape()[2]});
    return g.broadcast(g.ne(row, g.like(row, 0)), {1, 2}, shape());
  }
  Value* in_rows(Value* condition) const { return of_each_row(g, condition, shape()); }

  void hold_back_ends() {
    Value* early = in_rows(g.lt(length, place(kEndsFrom)));
    scores = g.select(g.logical_and(is(kIsEnd), early), like(kForbidden), scores);
  }
  void force(TokenKind kind, TextPlace at) {
    Value* alone = g.select(is(kind), like(0), like(kForbidden));
    scores = g.select(in_rows(g.eq(length, place(at))), alone, scores);
  }
  void remove_invalid() {
    constexpr double kMost = std::numeric_limits<float>::max();
    Value* valid = g.min(g.max(scores, like(-kMost)), like(kMost));
    valid = g.select(g.eq(scores, scores), valid, like(0));
    Value* wanted = number_of(g, text.integers, kRemovesInvalid, shape());
    scores = g.select(g.ne(wanted, g.like(wanted, 0)), valid, scores);
  }
  /// Rounded between the product and the sum, as the host's: the choice stands between them. The growth at 0
  /// is none.
  void raise_ends() {
    Value* beyond = within(g, g.sub(length, place(kEndsGrowFrom)), *text.growth->shape()[0].constant());
    Value *growth = in_rows(g.gather(text.growth, beyond)), *size = g.abs(scores);
    Value* grows = g.logical_and(is(kIsEnd), g.lt(size, like(std::numeric_limits<double>::infinity())));
    grows = g.logical_and(grows, g.ne(growth, like(0)));
    scores = g.add(scores, g.select(grows, g.mul(size, growth), like(0)));
  }
  void suppress() {
    Value* first = in_rows(g.eq(length, place(kSuppressedFirstAt)));
    Value* suppressed = g.logical_or(is(kIsSuppressed), g.logical_and(is(kIsSuppressedFirst), first));
    scores = g.select(suppressed, like(kForbidden), scores);
  }
};

Value* of_every_word(GraphBuilder& g, Value* scores, const TextChoice& text, Value* length) {
  EveryWord words{g, text, length, in_parts(g, scores)};
  words.hold_back_ends();
  words.force(kIsForcedFirst, kForcedFirstAt);
  words.force(kIsForcedLast, kForcedLastAt);
  words.remove_invalid();
  words.raise_ends();
  words.suppress();
  return g.reshape(words.scores, scores->shape());
}

}  // namespace

TextChoice text_choice_inputs(BlockBuilder& b, Value* rows) {
  const Dim places = b.graph.module().find_state(state::text_tokens)->shape[1];
  const Extents sizes = {{Extent::rows, rows->shape()[0]}, {Extent::capacity, places - 1}};
  TextChoice text;
  text.places = decode_input(b, port::text_places, sizes);
  text.numbers = decode_input(b, port::text_numbers, sizes);
  text.integers = decode_input(b, port::text_integers, sizes);
  text.growth = decode_input(b, port::end_growth, sizes);
  text.biased_before = decode_input(b, port::biased_before, sizes);
  text.biased_last = tokens_or_none(b, port::biased_last, sizes);
  text.biases = decode_input(b, port::biases, sizes);
  text.biased_with = decode_input(b, port::biased_with, sizes);
  text.banned_before = decode_input(b, port::banned_before, sizes);
  text.banned_last = tokens_or_none(b, port::banned_last, sizes);
  return text;
}

void declare_text_states(BlockBuilder& b, int64_t slots, int64_t capacity, int64_t source_capacity) {
  declare_states(b,
                 {{Extent::slots, slots},
                  {Extent::capacity, capacity},
                  {Extent::source_capacity, source_capacity},
                  {Extent::vocabulary, b.spec.vocab_size}},
                 {state::text_tokens, state::text_source, state::text_kinds});
}

Value* number_of(GraphBuilder& g, Value* numbers, int64_t which, const Shape& shape) {
  return g.broadcast(g.reshape(g.slice(numbers, 0, which, 1), {}), {}, shape);
}

Value* elements_of_rows(GraphBuilder& g, Value* table, Value* columns) {
  const Dim rows = table->shape()[0], width = table->shape()[1];
  Value* row = g.iota(columns->type, 0);
  Value* index = g.add(g.mul(row, g.like(row, static_cast<double>(*width.constant()))), columns);
  return g.gather(g.reshape(table, {rows * width}), index);
}

Value* text_lengths(GraphBuilder& g, const TokenChoice& choice, const TextChoice& text) {
  Value* place = g.add(choice.past, g.like(choice.past, 1));
  return g.add(place, column(g, text.places, kNotRead));
}

Value* guided_scores(BlockBuilder& b, Value* scores, const TokenChoice& choice, const TextChoice& text) {
  GraphBuilder& g = b.graph;
  const int64_t words = b.spec.vocab_size;
  Value *tokens = of_rows(g, state::text_tokens, choice), *source = of_rows(g, state::text_source, choice);
  Value* length = text_lengths(g, choice, text);
  const Text found{tokens, length, tail_of(g, tokens, length)};
  Value* source_length = column(g, text.places, kSourceLength);
  Value* is_source = is_before(g, source->shape(), source_length);
  Value* is_text = is_before(g, tokens->shape(), length);
  Value* is_passed = is_before(g, tokens->shape(), column(g, text.places, kPassedOver));
  scores = biased_scores(b, scores, choice, text, found);
  scores = with_penalty(g, scores, words_where(g, is_source, source, words), text.numbers, kSourcePenalty);
  Value* seen = words_where(g, g.logical_and(is_text, g.logical_not(is_passed)), tokens, words);
  scores = with_penalty(g, scores, seen, text.numbers, kTextPenalty);
  Value *size = size_of_ngrams(g, text, kNgram), *source_size = size_of_ngrams(g, text, kSourceNgram);
  scores = without(g, scores, repeated(b, tokens, length, found, size));
  scores = without(g, scores, repeated(b, source, source_length, found, source_size));
  scores = without_phrases(g, scores, text, found);
  return of_every_word(g, scores, text, length);
}

}  // namespace smelt
