#include "runtime/engine/data/records.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/base/error.h"
#include "runtime/engine/data/record_values.h"

namespace smelt {
namespace {

/// These two give the length of a record: its last token that is seen, its last target that counts.
constexpr const char* kMask = "attention_mask";
constexpr const char* kLabels = "labels";

std::string names_of(const PlanEntry& entry) {
  std::vector<std::string> names;
  for (const Port& port : entry.inputs)
    names.push_back(fmt::format("{} {}{}{}", port.name, name(port.dtype), str(port.shape),
                                port.optional ? " (optional)" : ""));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string place(const Checkpoint& file, std::string_view tensor) {
  return fmt::format("'{}', tensor '{}'", file.path().string(), tensor);
}

/// "B" for the dim that is just this symbol, or a multiple of it, else nothing.
std::string symbol_of(const Dim& dim) {
  const std::vector<Dim::Term> terms = dim.terms();
  const bool lone = terms.size() == 1 && terms[0].coefficient > 0 && terms[0].atoms.size() == 1;
  return lone && !terms[0].atoms[0].inner ? terms[0].atoms[0].name : "";
}

bool is_second_dim(const Port& port, const std::string& symbol) {
  return port.shape.size() > 1 && symbol_of(port.shape[1]) == symbol;
}

/// A target that is no class marks padding; a loss without one counts them all.
bool tells_padding(const Port& port) { return port.name == kMask || (port.ids && port.ids->ignored); }

}  // namespace

RecordData::RecordData(const std::vector<std::filesystem::path>& files, const PlanEntry& entry,
                       const Symbols& symbols) {
  if (files.empty()) fail("no data files given");
  description_ = fmt::format("'{}'", files[0].string());
  if (files.size() > 1) description_ += fmt::format(" and {} more", files.size() - 1);
  for (const auto& path : files) {
    Piece piece{.file = Checkpoint::open(path), .tensors = {}};
    if (columns_.empty()) choose_columns(piece, entry);
    add_piece(std::move(piece), entry);
  }
  for (Length& length : lengths_) {
    measure(length, entry);
    require_multiple(length);
    const int64_t most = symbols.upper(Dim::symbol(length.symbol)) * length.multiple;
    const auto row = std::ranges::max_element(length.of_row);
    if (length.padded(length.longest) > most)
      fail_with(Status::invalid_file,
                "{}: record {} is {} long, but the plan takes {} <= {}: shorten the records, or compile with "
                "--max {}={}",
                description_, row - length.of_row.begin(), length.longest, length.symbol, most, length.symbol,
                length.longest);
  }
}

/// The inputs that the first file has tensors for; those that it lacks must be optional.
void RecordData::choose_columns(const Piece& first, const PlanEntry& entry) {
  for (const Port& port : entry.inputs) {
    if (first.file.find(port.name))
      add_column(port, entry);
    else if (!port.optional)
      fail_with(Status::invalid_file, "'{}': there is no tensor '{}'; entry '{}' reads {}",
                first.file.path().string(), port.name, entry.name, names_of(entry));
  }
}

void RecordData::add_column(const Port& port, const PlanEntry& entry) {
  Column column{.port = port};
  const bool rows = !port.shape.empty() && !symbol_of(port.shape[0]).empty();
  const std::string symbol = port.shape.size() > 1 ? symbol_of(port.shape[1]) : "";
  bool good = rows && (port.dtype == DType::i32 || port.dtype == DType::f32);
  for (size_t i = symbol.empty() ? 1 : 2; i < port.shape.size(); ++i) {
    good &= port.shape[i].is_constant();
    column.inner *= port.shape[i].constant().value_or(1);
  }
  if (!good)
    fail(
        "entry '{}', input '{}' is {}{}: a data set feeds i32 and f32 inputs [records, ...] or [records, "
        "length, ...]",
        entry.name, port.name, name(port.dtype), str(port.shape));
  if (!symbol.empty()) {
    const auto found = std::ranges::find(lengths_, symbol, &Length::symbol);
    column.length = static_cast<int>(found - lengths_.begin());
    const int64_t multiple = port.shape[1].terms()[0].coefficient;
    if (found == lengths_.end())
      lengths_.push_back({.symbol = symbol, .judge = {}, .of_row = {}, .multiple = multiple});
  }
  if (port.name == kLabels && port.ids) column.padding = static_cast<int32_t>(port.ids->ignored.value_or(0));
  columns_.push_back(std::move(column));
}

void RecordData::add_piece(Piece piece, const PlanEntry& entry) {
  for (const TensorView& tensor : piece.file.tensors())
    if (std::ranges::find(columns_, tensor.name, [](const Column& c) { return c.port.name; }) ==
        columns_.end())
      fail_with(Status::invalid_file, "{}: {}; entry '{}' reads {}", place(piece.file, tensor.name),
                pieces_.empty() ? "no such input" : "the first file has no such tensor", entry.name,
                names_of(entry));
  for (size_t c = 0; c < columns_.size(); ++c) {
    piece.tensors.push_back(&piece.file.at(columns_[c].port.name));
    check_shape(piece, c);
    const TensorView& tensor = *piece.tensors[c];
    const auto bad = find_bad_value(tensor, columns_[c].port);
    if (bad)
      fail_with(Status::invalid_file, "{}: record {}, element {} is {}", place(piece.file, tensor.name),
                bad->element * tensor.shape[0] / tensor.elements(),
                bad->element % (tensor.elements() / tensor.shape[0]), bad->text);
  }
  piece.begin = size_;
  piece.rows = piece.tensors[0]->shape[0];
  size_ += piece.rows;
  if (piece.rows > 0) pieces_.push_back(std::move(piece));
}

void RecordData::check_shape(const Piece& piece, size_t index) const {
  const Port& port = columns_[index].port;
  const TensorView &tensor = *piece.tensors[index], &first = *piece.tensors[0];
  const std::string at = place(piece.file, tensor.name);
  if (!is_readable(tensor.dtype, port))
    fail_with(Status::invalid_file, "{} is {}: expected one of {} for an input of type {}", at,
              describe(tensor), readable_names(port), name(port.dtype));
  bool fits = tensor.shape.size() == port.shape.size();
  for (size_t i = 1; fits && i < port.shape.size(); ++i)
    fits = port.shape[i].constant().value_or(tensor.shape[i]) == tensor.shape[i] && tensor.shape[i] > 0;
  if (!fits)
    fail_with(Status::invalid_file, "{} is {}: expected a record a row of the input's shape {}", at,
              describe(tensor), str(port.shape));
  if (tensor.shape[0] != first.shape[0])
    fail_with(Status::invalid_file, "{} holds {} records, '{}' {}: expected equally many", at,
              tensor.shape[0], first.name, first.shape[0]);
  for (size_t i = 0; i < index; ++i)
    if (columns_[i].length >= 0 && columns_[i].length == columns_[index].length &&
        piece.tensors[i]->shape[1] != tensor.shape[1])
      fail_with(Status::invalid_file, "{} is {}: expected a width of {}, as '{}'", at, describe(tensor),
                piece.tensors[i]->shape[1], piece.tensors[i]->name);
}

/// An attention_mask gives the lengths, together with labels of the same width. If the model reads one and
/// none is given, all tokens are unmasked. If the model has none, tokens after the last target have no
/// effect.
void RecordData::measure(Length& length, const PlanEntry& entry) {
  length.of_row.assign(static_cast<size_t>(size_), 0);
  const auto given = [&](const char* name) {
    return std::ranges::any_of(columns_, [&](const Column& column) {
      return column.port.name == name && is_second_dim(column.port, length.symbol) &&
             tells_padding(column.port);
    });
  };
  const bool masks = std::ranges::any_of(entry.inputs, [&](const Port& port) {
    return port.name == kMask && is_second_dim(port, length.symbol);
  });
  if (given(kMask)) measure_by(kMask, length);
  if (given(kLabels) && (given(kMask) || !masks)) measure_by(kLabels, length);
  if (length.judge.empty()) measure_by(nullptr, length);
  for (const int32_t row : length.of_row) length.longest = std::max<int64_t>(length.longest, row);
}

/// Checks that records need no padding, which would be taken for a part of the record if nothing marks it.
void RecordData::require_multiple(const Length& length) const {
  if (length.judge.empty() && length.longest % length.multiple != 0)
    fail_with(Status::invalid_file,
              "{}: records are {} wide, and the plan takes multiples of {}: pad the records and give an "
              "attention_mask, or make a plan without --sequence-parallel",
              description_, length.longest, length.multiple);
}

void RecordData::measure_by(const char* name, Length& length) {
  const auto index = static_cast<int>(&length - lengths_.data());
  const auto column = std::ranges::find_if(
      columns_, [&](const Column& c) { return c.length == index && (!name || c.port.name == name); });
  if (name) length.judge = name;
  const auto c = static_cast<size_t>(column - columns_.begin());
  std::vector<int32_t> values;
  for (const Piece& piece : pieces_) {
    const int64_t width = piece.tensors[c]->shape[1];
    if (!name && width != pieces_[0].tensors[c]->shape[1])
      fail_with(Status::invalid_file,
                "{} is {} wide, in the first file {}: records of different lengths need an attention_mask",
                place(piece.file, column->port.name), width, pieces_[0].tensors[c]->shape[1]);
    values.resize(static_cast<size_t>(width * column->inner));
    for (int64_t row = 0; row < piece.rows; ++row) {
      int64_t end = width;
      if (name) {
        read_elements(*piece.tensors[c], row * width, width, DType::i32,
                      reinterpret_cast<std::byte*>(values.data()));
        while (end > 1 && values[static_cast<size_t>(end - 1)] == column->padding) --end;
      }
      int32_t& so_far = length.of_row[static_cast<size_t>(piece.begin + row)];
      so_far = std::max(so_far, static_cast<int32_t>(end));
    }
  }
}

std::vector<int64_t> RecordData::shape(const Column& column, int64_t rows,
                                       std::span<const int64_t> extents) const {
  std::vector<int64_t> shape = {rows};
  for (size_t i = 1; i < column.port.shape.size(); ++i)
    shape.push_back(column.port.shape[i].constant().value_or(
        column.length < 0 ? 1 : extents[static_cast<size_t>(column.length)]));
  return shape;
}

std::vector<InputTensor> RecordData::largest(int64_t rows) const {
  std::vector<int64_t> extents;
  for (const Length& length : lengths_) extents.push_back(length.padded(length.longest));
  std::vector<InputTensor> inputs;
  for (const Column& column : columns_)
    inputs.push_back({column.port.name, column.port.dtype, shape(column, rows, extents), nullptr});
  return inputs;
}

std::string RecordData::fingerprint() const {
  Checksum sum;
  for (const Piece& piece : pieces_)
    for (const TensorView* tensor : piece.tensors) sum.add(tensor->bytes);
  return sum.hex();
}

void RecordData::read(std::span<const int64_t> rows, Batch& batch) const {
  batch.clear();
  const auto count = static_cast<int64_t>(rows.size());
  std::vector<int64_t> extents;
  for (const Length& length : lengths_) {
    int64_t longest = 1;
    for (const int64_t row : rows)
      longest = std::max<int64_t>(longest, length.of_row[static_cast<size_t>(row)]);
    extents.push_back(length.padded(longest));
    batch.tokens += count * extents.back();
  }
  if (lengths_.empty()) batch.tokens = count;
  for (const Column& column : columns_) {
    const int64_t extent = column.length < 0 ? 1 : extents[static_cast<size_t>(column.length)];
    std::byte* out = batch.add(column.port.name, column.port.dtype, shape(column, count, extents));
    for (const int64_t row : rows) {
      copy(row, column, extent, out);
      out += extent * column.inner * size_of(column.port.dtype);
    }
  }
}

void RecordData::copy(int64_t row, const Column& column, int64_t extent, std::byte* out) const {
  const auto piece = std::ranges::upper_bound(pieces_, row, {}, &Piece::begin) - 1;
  const TensorView& tensor = *piece->tensors[static_cast<size_t>(&column - columns_.data())];
  const int64_t width = column.length < 0 ? 1 : tensor.shape[1], held = std::min(width, extent);
  read_elements(tensor, (row - piece->begin) * width * column.inner, held * column.inner, column.port.dtype,
                out);
  auto* rest = reinterpret_cast<int32_t*>(out) + held * column.inner;
  std::fill_n(rest, (extent - held) * column.inner, column.padding);  // of f32: 0 has the same bits
}

std::vector<DocumentColumn> RecordData::document_columns() const {
  std::vector<DocumentColumn> documents;
  for (const Column& column : columns_) {
    const std::string& name = column.port.name;
    if (name == kSegmentIds || name == kPositionIds)
      fail("{}: there is a tensor '{}': the records are packed already", description_, name);
    if (column.length != 0)
      fail(
          "{}: '{}' is {}: records are packed where all tensors hold a value a token, [records, length, ...]",
          description_, name, str(column.port.shape));
    std::vector<int64_t> inner = shape(column, 1, std::vector<int64_t>{1});
    inner.erase(inner.begin(), inner.begin() + 2);
    documents.push_back({name, column.port.dtype, std::move(inner), column.padding});
  }
  return documents;
}

}  // namespace smelt
