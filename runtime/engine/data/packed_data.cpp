#include "runtime/engine/data/packed_data.h"

#include <algorithm>
#include <numeric>

#include "runtime/base/error.h"
#include "runtime/plan/plan.h"

namespace smelt {
namespace {

constexpr int64_t kScanned = 4096;

const Port* find_input(const PlanEntry& entry, std::string_view name) {
  const auto found = std::ranges::find(entry.inputs, name, &Port::name);
  return found == entry.inputs.end() ? nullptr : &*found;
}

/// Calls f(token, i) for each token of the range.
template <typename F>
void for_each_token(const TokenRange& range, F f) {
  std::vector<int32_t> block;
  for (int64_t begin = range.begin; begin < range.end; begin += kScanned) {
    block.resize(static_cast<size_t>(std::min(kScanned, range.end - begin)));
    range.data->read(begin, block);
    for (size_t i = 0; i < block.size(); ++i) f(block[i], begin + static_cast<int64_t>(i));
  }
}

std::vector<int64_t> lengths_of(const Documents& documents) {
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < documents.size(); ++i) lengths.push_back(documents.length(i));
  return lengths;
}

void require_that_fit(const Documents& documents, std::span<const int64_t> lengths, int64_t width) {
  const auto longest = std::ranges::max_element(lengths);
  if (longest == lengths.end() || *longest <= width) return;
  fail("{}: record {} is {} tokens long, but packed rows have {}: shorten the records, or give --length {}",
       documents.description(), longest - lengths.begin(), *longest, width, *longest);
}

}  // namespace

PackOptions pack_options(const PlanEntry& entry, int64_t length, std::vector<int32_t> document_end) {
  const Port* segments = find_input(entry, kSegmentIds);
  if (!segments || segments->dtype != DType::i32 || segments->shape.size() != 2)
    fail(
        "packed rows need an entry that tells their documents apart, but '{}' has no input segment_ids "
        "i32[B,T]: compile the model with --segment-ids --position-ids, or train without --pack",
        entry.name);
  const Port* labels = find_input(entry, "labels");
  if (!labels || labels->shape.size() != 2 || !labels->ids || !labels->ids->ignored)
    fail(
        "packed rows end in padding, but '{}' has no input labels i32[B,T] with a label that does not count "
        "(ignore_index of its cross_entropy)",
        entry.name);
  const Port* tokens = find_input(entry, "input_ids");
  for (const int32_t id : document_end)
    if (tokens && tokens->ids && !tokens->ids->holds(id))
      fail("a document cannot end with token {}: expected {}", id, str(*tokens->ids));
  return {.length = length,
          .document_end = std::move(document_end),
          .ignored_label = static_cast<int32_t>(*labels->ids->ignored),
          .position_ids = find_input(entry, kPositionIds) != nullptr};
}

TokenDocuments::TokenDocuments(TokenRange range, const PackOptions& options)
    : range_(std::move(range)), ignored_label_(options.ignored_label) {
  if (options.length < 2)
    fail("rows of {} tokens: expected at least 2 (the second is a target)", options.length);
  find_ends(options.document_end, options.length);
  const bool all_short =
      std::ranges::adjacent_find(begins_, [](int64_t a, int64_t b) { return b - a > 1; }) == begins_.end();
  if (size() > 0 && all_short)
    fail("{}: no document has two tokens or more, so there is nothing to predict; choose another end of them",
         description());
}

void TokenDocuments::find_ends(std::span<const int32_t> document_end, int64_t longest) {
  begins_ = {range_.begin};
  const std::vector<int64_t> files = range_.data->file_begins();
  auto file = std::ranges::upper_bound(files, range_.begin);
  std::vector<int32_t> last;  // as many tokens as end a document
  const auto cut = [&](int64_t i) {
    if (i > begins_.back()) begins_.push_back(i);
  };
  for_each_token(range_, [&](int32_t token, int64_t i) {
    if (file != files.end() && *file == i) cut(*file++), last.clear();
    if (i - begins_.back() == longest) cut(i);
    if (document_end.empty()) return;
    if (last.size() == document_end.size()) last.erase(last.begin());
    last.push_back(token);
    if (std::ranges::equal(last, document_end)) cut(i + 1), last.clear();
  });
  cut(range_.end);
}

int64_t TokenDocuments::length(int64_t document) const {
  const auto i = static_cast<size_t>(document);
  return begins_[i + 1] - begins_[i];
}

std::vector<DocumentColumn> TokenDocuments::columns() const {
  return {{"input_ids", DType::i32, {}, 0}, {"labels", DType::i32, {}, ignored_label_}};
}

void TokenDocuments::read(int64_t document, size_t, std::byte* out) const {
  range_.data->read(begins_[static_cast<size_t>(document)],
                    {reinterpret_cast<int32_t*>(out), static_cast<size_t>(length(document))});
}

PackedData::PackedData(std::shared_ptr<const Documents> documents, const PackOptions& options)
    : documents_(std::move(documents)),
      columns_(documents_->columns()),
      length_(options.length),
      position_ids_(options.position_ids) {
  const std::vector<int64_t> lengths = lengths_of(*documents_);
  require_that_fit(*documents_, lengths, length_);
  rows_ = pack_rows(lengths, length_);
  tokens_ = std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
}

std::string PackedData::summary() const {
  const double places = static_cast<double>(std::max<int64_t>(1, size() * length_));
  return fmt::format("{} rows of {} tokens hold {} documents of {} tokens: {:.1f}% full", size(), length_,
                     documents_->size(), tokens_, 100 * static_cast<double>(tokens_) / places);
}

std::vector<int64_t> PackedData::shape(const DocumentColumn& column, int64_t rows) const {
  std::vector<int64_t> shape = {rows, length_};
  shape.insert(shape.end(), column.inner.begin(), column.inner.end());
  return shape;
}

std::vector<InputTensor> PackedData::largest(int64_t rows) const {
  std::vector<InputTensor> inputs;
  for (const DocumentColumn& column : columns_)
    inputs.push_back({column.name, column.dtype, shape(column, rows), nullptr});
  inputs.push_back({kSegmentIds, DType::i32, {rows, length_}, nullptr});
  if (position_ids_) inputs.push_back({kPositionIds, DType::i32, {rows, length_}, nullptr});
  return inputs;
}

void PackedData::read(std::span<const int64_t> rows, Batch& batch) const {
  batch.clear();
  batch.tokens = static_cast<int64_t>(rows.size()) * length_;
  for (size_t column = 0; column < columns_.size(); ++column) read_column(rows, column, batch);
  add_numbers(kSegmentIds, rows, batch, [](int64_t document, int64_t) { return document + 1; });
  if (position_ids_) add_numbers(kPositionIds, rows, batch, [](int64_t, int64_t token) { return token; });
}

void PackedData::read_column(std::span<const int64_t> rows, size_t index, Batch& batch) const {
  const DocumentColumn& column = columns_[index];
  const std::vector<int64_t> whole = shape(column, static_cast<int64_t>(rows.size()));
  const int64_t inner = count_elements(column.inner), bytes = inner * size_of(column.dtype);
  std::byte* out = batch.add(column.name, column.dtype, whole);
  for (const int64_t row : rows) {
    int64_t used = 0;
    for (const int64_t document : rows_[row]) {
      documents_->read(document, index, out + used * bytes);
      used += documents_->length(document);
    }
    std::fill_n(reinterpret_cast<int32_t*>(out + used * bytes), (length_ - used) * inner, column.padding);
    out += length_ * bytes;
  }
}

template <typename Number>
void PackedData::add_numbers(const char* name, std::span<const int64_t> rows, Batch& batch,
                             Number value) const {
  std::byte* bytes = batch.add(name, DType::i32, {static_cast<int64_t>(rows.size()), length_});
  auto* out = reinterpret_cast<int32_t*>(bytes);
  std::fill_n(out, static_cast<int64_t>(rows.size()) * length_, 0);
  for (size_t r = 0; r < rows.size(); ++r) {
    int32_t* at = out + static_cast<int64_t>(r) * length_;
    const auto documents = rows_[rows[r]];
    for (size_t d = 0; d < documents.size(); ++d)
      for (int64_t token = 0; token < documents_->length(documents[d]); ++token)
        *at++ = static_cast<int32_t>(value(static_cast<int64_t>(d), token));
  }
}

}  // namespace smelt
