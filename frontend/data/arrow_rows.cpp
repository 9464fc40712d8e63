// Arrow's IPC format: a stream of batches, or a file, which is a stream between marks. Hugging Face's
// save_to_disk writes streams.
#include <algorithm>
#include <map>
#include <memory>

#include "frontend/data/arrow_format.h"
#include "frontend/data/byte_source.h"
#include "frontend/data/readers.h"
#include "runtime/base/half.h"
#include "runtime/system/file.h"
#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt {
namespace {

using arrow::Array;
using arrow::Field;
using arrow::Type;

constexpr std::string_view kFileMark = "ARROW1";
constexpr size_t kFileHeader = 8;  // the mark, and padding

/// The values of a dictionary, with the buffers that were decompressed.
struct Dictionary {
  Array values;
  std::deque<std::string> owned;
};

class ArrowRows : public RowReader {
 public:
  ArrowRows(const std::filesystem::path& path, const std::vector<ColumnName>& columns)
      : RowReader(path.string()), spooled_(path), file_(spooled_.path()) {
    const std::string_view text(reinterpret_cast<const char*>(file_.bytes().data()), file_.bytes().size());
    if (text.starts_with("FEA1"))
      fail_with(Status::invalid_file,
                "'{}' is Feather of version 1, which is not read: write it anew with pyarrow.feather",
                file());
    is_stream_ = !text.starts_with(kFileMark);
    if (!is_stream_ && (text.size() < 2 * kFileHeader || !text.ends_with(kFileMark)))
      fail_with(Status::invalid_file, "'{}' does not end as an Arrow file does: it was cut off", file());
    at_ = is_stream_ ? 0 : kFileHeader;
    read_schema();
    for (const ColumnName& column : columns) wanted_.push_back(wanted(column));
  }

  bool next(std::vector<Cell>& cells) override {
    try {
      while (row_in_batch_ == length_)
        if (!read_batch()) return false;
      ++row_, ++row_in_batch_;
      cells.clear(), budget_ = static_cast<int64_t>(kLargestRow);
      for (const Wanted& column : wanted_) cells.push_back(cell_of(column));
    } catch (const RowError&) {
      throw;
    } catch (const Error& error) {
      throw RowError(fmt::format("{} (row {})", error.what(), row_), true);
    }
    for (const Cell& cell : cells) require_utf8(cell);
    return true;
  }

 private:
  /// A column of the schema, and the path of the cell in it.
  struct Wanted {
    std::optional<size_t> column;  // nothing: it is missing
    std::string path;              // empty: the whole column
  };

  void read_schema() {
    const auto message = arrow::read_message(file_.bytes(), at_, file());
    if (!message || message->type != arrow::MessageType::schema)
      fail_with(Status::invalid_file, "'{}' is no Arrow stream or file: it does not begin with a schema",
                file());
    constexpr int kEndianness = 0, kFields = 1;
    if (message->header.number<int16_t>(kEndianness, 0) != 0)
      fail_with(Status::invalid_file, "'{}' is big-endian: expected little-endian", file());
    int left = arrow::kMostFields;
    for (size_t i = 0; i < message->header.count(kFields); ++i)
      fields_.push_back(arrow::read_field(message->header.table_at(kFields, i), file(), left));
    at_ = message->end;
  }

  Wanted wanted(const ColumnName& column) const {
    const auto whole = std::ranges::find(fields_, column.name, &Field::name);
    if (whole != fields_.end()) return {static_cast<size_t>(whole - fields_.begin()), ""};
    const size_t dot = column.name.find('.');
    const auto first = std::ranges::find(fields_, column.name.substr(0, dot), &Field::name);
    if (dot != column.name.npos && first != fields_.end())
      return {static_cast<size_t>(first - fields_.begin()), column.name.substr(dot + 1)};
    if (column.optional) return {};
    std::vector<std::string> names;
    for (const Field& field : fields_) names.push_back(field.name);
    fail_with(Status::invalid_file, "'{}': {}", file(), missing_column(column.name, names));
  }

  /// Reads messages up to the next batch. Returns false at the end of the stream.
  bool read_batch() {
    for (;;) {
      const auto message = arrow::read_message(file_.bytes(), at_, file());
      if (!message) return require_end(), false;
      at_ = message->end;
      if (message->type == arrow::MessageType::dictionary) read_dictionary(*message);
      if (message->type != arrow::MessageType::batch) continue;
      arrays_.assign(fields_.size(), Array());
      owned_.clear();
      arrow::BatchReader in(message->header, message->body, file());
      for (size_t i = 0; i < fields_.size(); ++i) {
        const bool needed = std::ranges::any_of(wanted_, [&](const Wanted& w) { return w.column == i; });
        if (needed)
          arrays_[i] = in.read(fields_[i], owned_);
        else
          in.skip(fields_[i]);
      }
      length_ = in.length(), row_in_batch_ = 0;
      return true;
    }
  }

  /// Behind the mark of its end, of 8 bytes (before Arrow 0.15 of 4), a stream has nothing.
  void require_end() const {
    constexpr size_t kEndMark = 8;
    if (is_stream_ && file_.bytes().size() - at_ > kEndMark)
      fail_with(Status::invalid_file,
                "'{}' has {} bytes behind the end of its stream: expected one stream (are there several, one "
                "behind the other?)",
                file(), file_.bytes().size() - at_ - kEndMark);
  }

  void read_dictionary(const arrow::Message& message) {
    constexpr int kId = 0, kData = 1, kIsDelta = 2;
    const auto id = message.header.number<int64_t>(kId, 0);
    const Field* field = find_dictionary(fields_, id);
    const auto batch = message.header.table(kData);
    if (!field || !batch) return;
    if (message.header.number<uint8_t>(kIsDelta, 0) != 0)
      fail_with(Status::invalid_file, "'{}', column '{}': delta dictionaries are not read", file(),
                field->name);
    if (std::ranges::any_of(field->children, has_dictionary))
      fail_with(Status::invalid_file, "'{}', column '{}': dictionaries in dictionaries are not read", file(),
                field->name);
    Dictionary& made = dictionaries_[id] = {};
    Field& values = dictionary_fields_[id] = *field;
    values.dictionary.reset();
    arrow::BatchReader in(*batch, message.body, file());
    made.values = in.read(values, made.owned);
  }

  static bool has_dictionary(const Field& field) {
    return field.dictionary || std::ranges::any_of(field.children, has_dictionary);
  }

  static const Field* find_dictionary(const std::vector<Field>& fields, int64_t id) {
    for (const Field& field : fields) {
      if (field.dictionary == id) return &field;
      if (const Field* found = find_dictionary(field.children, id)) return found;
    }
    return nullptr;
  }

  Cell cell_of(const Wanted& column) const {
    if (!column.column) return nullptr;
    Cell value = value_at(arrays_[*column.column], row_in_batch_ - 1);
    if (column.path.empty()) return value;
    const Cell* member = find_cell(value, column.path);
    if (!member) refuse(fmt::format("there is no '{}' in '{}'", column.path, fields_[*column.column].name));
    return *member;
  }

  [[noreturn]] void fail_damaged(const Array& array) const {
    fail_with(Status::invalid_file, "'{}', column '{}': a value is outside its buffer: the file is damaged",
              file(), array.field->name);
  }

  template <typename T>
  T number(const Array& array, std::string_view buffer, int64_t i) const {
    if (i < 0 || i >= static_cast<int64_t>(buffer.size() / sizeof(T))) fail_damaged(array);
    T value;
    std::memcpy(&value, buffer.data() + static_cast<size_t>(i) * sizeof(T), sizeof value);
    return value;
  }

  bool bit(const Array& array, std::string_view bits, int64_t i) const {
    return (number<uint8_t>(array, bits, i / 8) >> (i % 8) & 1) != 0;
  }

  int64_t integer(const Array& array, int bits, bool is_signed, int64_t i) const {
    switch (bits) {
      case 8:
        return is_signed ? number<int8_t>(array, array.data, i) : number<uint8_t>(array, array.data, i);
      case 16:
        return is_signed ? number<int16_t>(array, array.data, i) : number<uint16_t>(array, array.data, i);
      case 32:
        return is_signed ? number<int32_t>(array, array.data, i)
                         : static_cast<int64_t>(number<uint32_t>(array, array.data, i));
      case 64:
        return number<int64_t>(array, array.data, i);
      default:
        fail_damaged(array);
    }
  }

  double real(const Array& array, int64_t i) const {
    switch (array.field->bits) {
      case 16:
        return from_f16(number<uint16_t>(array, array.data, i));
      case 32:
        return number<float>(array, array.data, i);
      case 64:
        return number<double>(array, array.data, i);
      default:
        fail_damaged(array);
    }
  }

  /// Returns the offsets of element `i` and of the next one.
  std::pair<int64_t, int64_t> range(const Array& array, int64_t i) const {
    const Type type = array.field->type;
    const bool large = type == Type::large_list || type == Type::large_text || type == Type::large_binary;
    const auto offset = [&](int64_t k) {
      return large ? number<int64_t>(array, array.offsets, k)
                   : int64_t{number<int32_t>(array, array.offsets, k)};
    };
    const std::pair<int64_t, int64_t> found = {offset(i), offset(i + 1)};
    if (found.first < 0 || found.second < found.first) fail_damaged(array);
    return found;
  }

  Cell text(const Array& array, int64_t i) const {
    const auto [begin, end] = range(array, i);
    if (end > static_cast<int64_t>(array.data.size())) fail_damaged(array);
    spend(static_cast<size_t>(end - begin));
    return std::string(array.data.substr(static_cast<size_t>(begin), static_cast<size_t>(end - begin)));
  }

  Cell list(const Array& array, int64_t begin, int64_t end) const {
    Cell values = Cell::array();
    if (end > array.children[0].length) fail_damaged(array);
    for (int64_t k = begin; k < end; ++k) values.push_back(value_at(array.children[0], k));
    return values;
  }

  /// Ranges of a damaged file may overlap, so that a small file has a row of any size.
  void spend(size_t bytes) const {
    budget_ -= static_cast<int64_t>(bytes);
    if (budget_ < 0) refuse(fmt::format("it is longer than {} MiB", kLargestRow >> 20), true);
  }

  Cell value_at(const Array& array, int64_t i) const {
    const Field& field = *array.field;
    if (i < 0 || i >= array.length) fail_damaged(array);
    spend(sizeof(Cell));
    if (!array.validity.empty() && !bit(array, array.validity, i)) return nullptr;
    if (field.dictionary) {
      const auto found = dictionaries_.find(*field.dictionary);
      if (found == dictionaries_.end()) fail_damaged(array);
      return value_at(found->second.values, integer(array, field.index_bits, field.index_signed, i));
    }
    switch (field.type) {
      case Type::null:
        return nullptr;
      case Type::integer:
        return integer(array, field.bits, field.is_signed, i);
      case Type::real:
        return real(array, i);
      case Type::boolean:
        return bit(array, array.data, i);
      case Type::text:
      case Type::large_text:
      case Type::binary:
      case Type::large_binary:
        return text(array, i);
      case Type::list:
      case Type::large_list:
      case Type::map: {
        const auto [begin, end] = range(array, i);
        return list(array, begin, end);
      }
      case Type::fixed_list:
        if (field.list_size > 0 && i >= (int64_t{1} << 31)) fail_damaged(array);
        return list(array, i * field.list_size, (i + 1) * field.list_size);
      case Type::structure: {
        Cell object = Cell::object();
        for (const Array& child : array.children) object[child.field->name] = value_at(child, i);
        return object;
      }
      default:
        fail_with(Status::invalid_file,
                  "'{}', column '{}' has values of a type that is not read: expected texts, numbers, truth "
                  "values, lists or structs of them",
                  file(), field.name);
    }
  }

  void require_utf8(const Cell& cell) const {
    if (cell.is_string() && !is_utf8(cell.get_ref<const std::string&>()))
      refuse("a text is no UTF-8: expected a column of texts in UTF-8");
    if (cell.is_structured())
      for (const Cell& each : cell) require_utf8(each);
  }

  SpooledFile spooled_;
  MappedFile file_;
  size_t at_ = 0;  // next message
  bool is_stream_ = false;
  std::vector<Field> fields_;
  std::map<int64_t, Field> dictionary_fields_;
  std::map<int64_t, Dictionary> dictionaries_;
  std::vector<Wanted> wanted_;
  std::vector<Array> arrays_;      // of this batch, by column
  std::deque<std::string> owned_;  // its decompressed buffers
  int64_t length_ = 0, row_in_batch_ = 0;
  mutable int64_t budget_ = 0;  // bytes that this row may still take
};

}  // namespace

std::unique_ptr<RowReader> open_arrow_rows(const std::filesystem::path& path,
                                           const std::vector<ColumnName>& columns) {
  return std::make_unique<ArrowRows>(path, columns);
}

}  // namespace smelt
