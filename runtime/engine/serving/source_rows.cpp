#include "runtime/engine/serving/source_rows.h"

#include <algorithm>

#include "runtime/base/error.h"
#include "runtime/engine/generation/prompt_lengths.h"
#include "runtime/engine/serving/cleared_caches.h"
#include "runtime/plan/device_kind.h"

namespace smelt {
namespace {

void require_input(const Session& session, const DecodePort& input, const char* use) {
  if (std::ranges::count(session.entry(entry::encode).inputs, input.name, &Port::name) > 0) return;
  fail("the entry '{}' has no input '{}', which {}; compile the model again", entry::encode, input.name, use);
}

}  // namespace

SourceRows::SourceRows(Session& session, const DecodeInterface& decode)
    : SlotRows(session, decode),
      source_capacity_(decode.source_capacity),
      source_lengths_(slots_, source_capacity_),
      source_symbol_(decode.source_symbol),
      rows_symbol_(decode.rows_symbol) {
  require_input(session, port::source_rows, "says where a source of a running batch is stored");
  require_input(session, port::attention_mask, "masks sources of different lengths");
}

void SourceRows::check_source(std::span<const int32_t> source) const {
  if (source.empty()) fail("the source is empty: expected at least one token, which the encoder reads");
  for (const int32_t token : source)
    if (token < 0 || token >= vocabulary_)
      fail("token {} of the source is outside the model's vocabulary of {}", token, vocabulary_);
  if (source.size() <= source_capacity_) return;
  fail("a source of {} tokens: expected at most {}; shorten it, or compile with a larger --max S=",
       source.size(), source_capacity_);
}

/// Returns the most sources of this length that one run may have.
size_t SourceRows::rows_per_run(size_t length) const {
  if (device_kind(session_.plan().target).most_exact_rows > 0 || rows_symbol_.empty()) return 1;
  const SymbolValues sizes = {{source_symbol_, static_cast<int64_t>(bounds_.source_length(length, 1))}};
  return std::clamp<size_t>(most_beside(session_.plan().symbols, rows_symbol_, sizes), 1, slots_);
}

/// Sources of similar lengths run together, because a run is as long as its longest source.
void SourceRows::read_sources(std::span<const RowSource> sources) {
  std::vector<RowSource> ordered(sources.begin(), sources.end());
  std::ranges::stable_sort(ordered, std::ranges::greater(),
                           [](const RowSource& source) { return source.tokens.size(); });
  for (std::span<const RowSource> left = ordered; !left.empty();) {
    const size_t count = std::min(left.size(), rows_per_run(left[0].tokens.size()));
    read_together(left.first(count));
    left = left.subspan(count);
  }
}

/// The first run of a size chooses kernels, and the second one is captured.
void SourceRows::prepare_sources(size_t most, size_t tokens) {
  if (!device_kind(session_.plan().target).captures_runs) return;
  for (size_t length = 1; length <= source_capacity_; ++length) {
    length = bounds_.source_length(length, 1);
    const std::vector<int32_t> source(length, 0);
    const size_t together = std::clamp<size_t>(tokens / length, 1, std::min(most, rows_per_run(length)));
    for (size_t count = 1; count <= together; count = with_padding(count) + 1)
      for (int time = 0; time < 2; ++time) read_together(std::vector<RowSource>(count, {0, source}));
  }
}

/// Runs the entry `encode`. The first source is the longest. Padding repeats the last one.
void SourceRows::read_together(std::span<const RowSource> sources) {
  const size_t count = std::min(with_padding(sources.size()), rows_per_run(sources[0].tokens.size()));
  const size_t length = bounds_.source_length(sources[0].tokens.size(), count);
  std::vector<int32_t> ids, mask, rows;
  for (size_t i = 0; i < count; ++i) {
    const RowSource& source = sources[std::min(i, sources.size() - 1)];
    source_lengths_[source.row] = length;
    rows.push_back(static_cast<int32_t>(source.row));
    ids.insert(ids.end(), source.tokens.begin(), source.tokens.end());
    mask.resize(ids.size(), 1);
    ids.resize(rows.size() * length, 0), mask.resize(rows.size() * length, 0);
  }
  const std::vector<int64_t> sizes = {std::ssize(rows), static_cast<int64_t>(length)};
  std::vector<InputTensor> inputs = {port::input_ids.tensor(sizes, ids.data()),
                                     port::source_rows.tensor({std::ssize(rows)}, rows.data())};
  if (std::ranges::count(mask, 0) > 0) inputs.push_back(port::attention_mask.tensor(sizes, mask.data()));
  session_.run(entry::encode, inputs, {});
}

void SourceRows::clear(size_t row, size_t begin) {
  SlotRows::clear(row, begin);
  clear_caches(session_, CacheKind::sources, row, 1);
}

/// A row's mask also covers the positions after its source, so copies cover what the row `to` had before.
void SourceRows::copy_sources(const std::vector<int32_t>& from, const std::vector<int32_t>& to) {
  size_t longest = 0;
  for (size_t i = 0; i < from.size(); ++i) {
    const size_t source = source_lengths_[static_cast<size_t>(from[i])];
    size_t& target = source_lengths_[static_cast<size_t>(to[i])];
    longest = std::max({longest, source, target});
    target = source;
  }
  copy_rows(entry::reorder_sources, from, to, longest, source_capacity_);
}

void SourceRows::move(std::span<const RowMove> moves) {
  SlotRows::move(moves);
  std::vector<int32_t> from, to;
  for (const RowMove& each : moves)
    from.push_back(static_cast<int32_t>(each.from)), to.push_back(static_cast<int32_t>(each.to));
  copy_sources(from, to);
}

void SourceRows::copy(std::span<const RowCopy> copies) {
  SlotRows::copy(copies);
  std::vector<int32_t> from, to;
  for (const RowCopy& each : copies)
    if (each.begins)
      from.push_back(static_cast<int32_t>(each.from)), to.push_back(static_cast<int32_t>(each.to));
  copy_sources(from, to);
}

}  // namespace smelt
