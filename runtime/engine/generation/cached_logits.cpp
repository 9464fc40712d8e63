#include "runtime/engine/generation/cached_logits.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "runtime/engine/generation/rank_progress.h"

namespace smelt {
namespace {

/// Parts of rows as one tensor, each as long.
struct Padded {
  std::vector<int32_t> values;
  std::vector<int64_t> shape;
};

Padded padded(const std::vector<std::span<const int32_t>>& parts, size_t length, int32_t fill) {
  Padded result{{}, {static_cast<int64_t>(parts.size()), static_cast<int64_t>(length)}};
  for (size_t i = 0; i < parts.size(); ++i) {
    result.values.insert(result.values.end(), parts[i].begin(), parts[i].end());
    result.values.resize((i + 1) * length, fill);
  }
  return result;
}

size_t longest_source(std::span<const ModelRow> rows) {
  size_t longest = 0;
  for (const ModelRow& row : rows) longest = std::max(longest, row.source.size());
  return longest;
}

InputTensor input(const DecodePort& port, const Padded& rows) {
  return port.tensor(rows.shape, rows.values.data());
}
InputTensor input(const DecodePort& port, const std::vector<int32_t>& values) {
  return port.tensor({std::ssize(values)}, values.data());
}

}  // namespace

CachedLogits::CachedLogits(Session& session, const DecodeInterface& decode)
    : session_(session),
      bounds_(session.plan(), decode),
      source_capacity_(decode.source_capacity),
      reads_source_(decode.reads_source) {}

/// Returns the number of tokens at the beginning of a row that are cached and from which it can continue. At
/// least one token is left to read, because the logits after it are needed.
size_t CachedLogits::match_length(const ModelRow& row, const Held& held) const {
  if (!std::ranges::equal(held.source, row.source) || !std::ranges::equal(held.mask, row.mask)) return 0;
  const auto last = row.tokens.end() - 1;
  const auto differs = std::mismatch(row.tokens.begin(), last, held.tokens.begin(), held.tokens.end());
  const auto length = static_cast<size_t>(differs.first - row.tokens.begin());
  return bounds_.holds(length, held.furthest) ? length : 0;
}

/// Returns the best match. Most rows continue in their own slot; other slots are searched if that one does
/// not hold the whole prefix.
CachedLogits::Match CachedLogits::match(const ModelRow& row, size_t own_slot,
                                        std::span<const Held> held) const {
  Match best = {own_slot, own_slot < held.size() ? match_length(row, held[own_slot]) : 0};
  for (size_t slot = 0; slot < held.size() && best.length + 1 < row.tokens.size(); ++slot)
    if (const size_t length = match_length(row, held[slot]); length > best.length) best = {slot, length};
  return best;
}

/// Moves prefixes that rows share with others to their own slots; returns the length that each then has
/// there.
std::vector<size_t> CachedLogits::keep_matches(std::span<const ModelRow> rows, std::span<const Held> held) {
  std::vector<Match> matches;
  for (size_t i = 0; i < rows.size(); ++i) matches.push_back(match(rows[i], i, held));
  std::vector<size_t> past(rows.size());
  std::ranges::transform(matches, past.begin(), &Match::length);
  furthest_.assign(rows.size(), 0);
  // Sources are read together, by a run that leaves nothing of those before.
  if (reads_source_ && std::ranges::count(past, size_t{0}) > 0) return std::vector<size_t>(rows.size(), 0);
  for (size_t i = 0; i < rows.size(); ++i)
    if (past[i] > 0) furthest_[i] = held[matches[i].slot].furthest;
  reorder(matches);
  if (reads_source_) reorder_sources(matches, held);
  return past;
}

void CachedLogits::Moves::add(size_t from_slot, size_t to_slot, size_t tokens) {
  from.push_back(static_cast<int32_t>(from_slot)), to.push_back(static_cast<int32_t>(to_slot));
  length = std::max(length, tokens);
}

void CachedLogits::move(const char* entry, const Moves& moves) {
  if (moves.length == 0) return;
  std::vector<int32_t> places(moves.length);
  std::iota(places.begin(), places.end(), 0);
  const std::vector<InputTensor> inputs = {input(port::from, moves.from), input(port::to, moves.to),
                                           input(port::places, places)};
  session_.run(entry, inputs, {});
}

/// Lengths are rounded up, so that a text that grows does not make a run of new sizes with every token.
void CachedLogits::reorder(std::span<const Match> matches) {
  constexpr size_t kStep = 64;
  Moves moves;
  for (size_t i = 0; i < matches.size(); ++i)
    if (matches[i].slot != i) moves.add(matches[i].slot, i, matches[i].length);
  moves.length = std::min(capacity(), (moves.length + kStep - 1) / kStep * kStep);
  move(entry::reorder, moves);
}

/// Beams of one sentence have the same source, each a copy of its own: these stay where they are.
void CachedLogits::reorder_sources(std::span<const Match> matches, std::span<const Held> held) {
  Moves moves;
  for (size_t i = 0; i < matches.size(); ++i) {
    const Held& wanted = held[matches[i].slot];
    const bool is_here = i < held.size() && held[i].source == wanted.source && held[i].mask == wanted.mask;
    if (!is_here) moves.add(matches[i].slot, i, source_capacity_);
  }
  move(entry::reorder_sources, moves);
}

void CachedLogits::encode(std::span<const ModelRow> rows) {
  std::vector<std::span<const int32_t>> sources, masks;
  const std::vector<int32_t> ones(longest_source(rows), 1);
  for (const ModelRow& row : rows) {
    sources.push_back(row.source);
    masks.push_back(row.mask.empty() ? std::span(ones).first(row.source.size()) : row.mask);
  }
  const size_t length = bounds_.source_length(longest_source(rows), rows.size());
  const Padded ids = padded(sources, length, 0), seen = padded(masks, length, 0);
  std::vector<InputTensor> inputs = {input(port::input_ids, ids)};
  if (std::ranges::count(seen.values, 0) > 0) inputs.push_back(input(port::attention_mask, seen));
  tell_progress(session_, entry::encode);
  session_.run(entry::encode, inputs, {});
}

/// Runs that read as much as one can, and one of the rest, for which each row keeps a token at least: rows
/// with fewer tokens than others read their last one again.
void CachedLogits::decode(std::span<const ModelRow> rows, std::vector<size_t> past, std::span<float> logits) {
  const size_t most = bounds_.longest_run(rows.size());
  const auto longest = [&] {
    size_t length = 0;
    for (size_t i = 0; i < rows.size(); ++i) length = std::max(length, rows[i].tokens.size() - past[i]);
    return length;
  };
  while (longest() > most) {
    decode_run(rows, past, most, {});
    for (size_t i = 0; i < rows.size(); ++i) past[i] = std::min(past[i] + most, rows[i].tokens.size() - 1);
  }
  decode_run(rows, past, bounds_.run_length(longest(), rows.size()), logits);
}

/// Padding after a row's tokens is written into its cache, too, and overwritten by the next tokens. A row
/// without room for padding reads some tokens again.
void CachedLogits::decode_run(std::span<const ModelRow> rows, std::vector<size_t>& past, size_t longest,
                              std::span<float> logits) {
  std::vector<std::span<const int32_t>> fresh;
  std::vector<int32_t> begins, lengths;
  for (size_t i = 0; i < rows.size(); ++i) {
    past[i] = std::min(past[i], capacity() - longest);
    const auto unread = std::span(rows[i].tokens).subspan(past[i]);
    fresh.push_back(unread.first(std::min(longest, unread.size())));
    begins.push_back(static_cast<int32_t>(past[i]));
    lengths.push_back(static_cast<int32_t>(fresh[i].size()));
    furthest_[i] = std::max(furthest_[i], past[i] + longest);
  }
  const Padded ids = padded(fresh, longest, 0);
  const std::vector<InputTensor> inputs = {
      input(reads_source_ ? port::decoder_input_ids : port::input_ids, ids), input(port::past_length, begins),
      input(port::lengths, lengths)};
  const OutputBuffer output = port::logits.buffer(logits);
  tell_progress(session_, entry::decode);
  session_.run(entry::decode, inputs, {&output, logits.empty() ? size_t{0} : size_t{1}});
}

/// While runs may fail nothing is known of the caches.
template <typename Read>
void CachedLogits::update(std::span<const ModelRow> rows, const Read& read) {
  std::vector<Held> held = std::exchange(held_, {});
  std::vector<size_t> past = keep_matches(rows, held);
  held.resize(std::max(held.size(), rows.size()));
  if (reads_source_ && past[0] == 0) encode(rows);
  read(std::move(past));
  for (size_t i = 0; i < rows.size(); ++i)
    held[i] = {rows[i].tokens,
               {rows[i].source.begin(), rows[i].source.end()},
               {rows[i].mask.begin(), rows[i].mask.end()},
               furthest_[i]};
  held_ = std::move(held);
}

void CachedLogits::run(std::span<const ModelRow> rows, std::span<float> logits) {
  update(rows, [&](std::vector<size_t> past) { decode(rows, std::move(past), logits); });
}

/// A run reads at least one token of every row; reading a token twice does not change the caches.
void CachedLogits::read_all_but_last(std::span<const ModelRow> rows, std::vector<size_t> past) {
  std::vector<ModelRow> read(rows.begin(), rows.end());
  bool is_missing = false;
  for (size_t i = 0; i < read.size(); ++i) {
    Tokens& tokens = read[i].tokens;
    is_missing |= past[i] + 1 < tokens.size();
    if (tokens.size() > 1) tokens.pop_back();
    past[i] = std::min(past[i], tokens.size() - 1);
  }
  if (is_missing) decode(read, std::move(past), {});
}

/// The number of tokens that are read next is unknown until note_read reports it.
void CachedLogits::hold(std::span<const ModelRow> rows) {
  update(rows, [&](std::vector<size_t> past) { read_all_but_last(rows, std::move(past)); });
  for (size_t i = 0; i < rows.size(); ++i) {
    held_[i].tokens.pop_back();
    held_[i].furthest = std::numeric_limits<size_t>::max();
  }
}

void CachedLogits::note_read(size_t row, std::span<const int32_t> tokens, size_t runs) {
  Held& held = held_[row];
  held.furthest = std::max(furthest_[row], held.tokens.size() + runs);
  held.tokens.insert(held.tokens.end(), tokens.begin(), tokens.end());
}

}  // namespace smelt
