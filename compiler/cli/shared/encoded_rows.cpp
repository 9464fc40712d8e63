#include "compiler/cli/shared/encoded_rows.h"

#include <unistd.h>

#include <algorithm>
#include <future>
#include <optional>
#include <variant>

#include "frontend/data/byte_source.h"
#include "runtime/base/error.h"
#include "runtime/base/in_parallel.h"
#include "runtime/system/cache_directory.h"
#include "runtime/system/file.h"
#include "runtime/system/process_lock.h"

namespace smelt::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kRowsAtOnce = 2048;             // that are in memory together, at most
constexpr size_t kTextAtOnce = size_t{4} << 20;  // bytes, after which no more rows are added to them
constexpr size_t kMostClasses = 1'000'000;       // names

/// A row that was read: its number, and its cells.
struct ReadRow {
  int64_t number;
  std::vector<Cell> cells;
};

size_t bytes_in(const Cell& cell) {
  if (cell.is_string()) return cell.get_ref<const std::string&>().size();
  size_t bytes = sizeof(Cell);
  if (cell.is_structured())
    for (const Cell& each : cell) bytes += bytes_in(each);
  return bytes;
}

/// A row that could not be read: the number of the last row before it that was, and a message.
struct RefusedRow {
  int64_t after;
  std::string text;
};

/// Consecutive rows of a file.
struct RowBlock {
  std::vector<ReadRow> rows;
  std::vector<RefusedRow> refused;
  bool ends = false;  // no row comes after them

  size_t size() const { return rows.size() + refused.size(); }
};

/// Reads a file's rows in blocks, encodes each block in parallel while the next one is read, and writes it in
/// the order of the rows.
class FileEncoding {
 public:
  FileEncoding(RowReader& reader, const RowEncoder& encoder, BadRows bad_rows, ExampleWriter& out)
      : reader_(reader), encoder_(encoder), bad_rows_(bad_rows), out_(out) {}

  void run() {
    for (RowBlock block = read_block(); block.size() > 0;) {
      std::future<RowBlock> next;
      if (!block.ends) next = std::async(std::launch::async, [this] { return read_block(); });
      encode_block(block);
      block = next.valid() ? next.get() : RowBlock();
    }
    ExampleFacts& facts = out_.facts();
    facts.classes.assign(names_.size(), "");
    for (const auto& [name, number] : names_) facts.classes[static_cast<size_t>(number)] = name;
    if (facts.examples == 0)
      fail_with(Status::invalid_file, "'{}' has no row to train on{}{}", reader_.file(),
                facts.skipped > 0 ? fmt::format("; {} were skipped, the first: ", facts.skipped) : "",
                facts.first_skipped);
  }

 private:
  /// Returns no rows at the end of the file.
  RowBlock read_block() {
    RowBlock block;
    size_t bytes = 0;
    std::vector<Cell> cells;
    while (!block.ends && block.size() < kRowsAtOnce && bytes < kTextAtOnce) {
      if (!read_row(cells, block)) continue;
      for (const Cell& cell : cells) bytes += bytes_in(cell);
      block.rows.push_back({reader_.row(), std::move(cells)});
    }
    return block;
  }

  /// Returns whether there was a row that is valid so far.
  bool read_row(std::vector<Cell>& cells, RowBlock& block) {
    try {
      block.ends = !reader_.next(cells);
      return !block.ends;
    } catch (const RowError& error) {
      block.ends = error.ends_file() || bad_rows_ == BadRows::stop;
      block.refused.push_back({block.rows.empty() ? 0 : block.rows.back().number, with_row(error)});
      return false;
    }
  }

  /// Damage of compressed data is not that of a single row.
  std::string with_row(const RowError& error) const {
    const std::string text = error.what();
    return text.find("row ") == text.npos ? fmt::format("{} (after row {})", text, reader_.row()) : text;
  }

  void encode_block(const RowBlock& block) {
    std::vector<std::variant<EncodedRow, std::string>> made(block.rows.size());
    const size_t each = std::max<size_t>(1, made.size() / kParts);
    in_parallel((made.size() + each - 1) / each, [&](size_t part) {
      for (size_t i = part * each; i < std::min(made.size(), (part + 1) * each); ++i)
        made[i] = encode(block.rows[i]);
    });
    auto refused = block.refused.begin();
    for (size_t i = 0; i < made.size(); ++i) {
      for (; refused != block.refused.end() && refused->after < block.rows[i].number; ++refused)
        skip(refused->text);
      if (auto* row = std::get_if<EncodedRow>(&made[i]))
        write(*row, block.rows[i].number);
      else
        skip(std::get<std::string>(made[i]));
    }
    for (; refused != block.refused.end(); ++refused) skip(refused->text);
  }

  std::variant<EncodedRow, std::string> encode(const ReadRow& row) const {
    try {
      return encoder_.encode(row.cells);
    } catch (const Error& error) {
      return fmt::format("'{}', row {}: {}", reader_.file(), row.number, error.what());
    }
  }

  [[noreturn]] static void refuse(const std::string& text) {
    throw RowError(text + " (--on-bad-row skip leaves such rows out)", true);
  }

  void skip(const std::string& text) {
    if (bad_rows_ == BadRows::stop) refuse(text);
    if (out_.facts().skipped++ == 0) out_.facts().first_skipped = text;
  }

  /// Numbers the classes by their names in the order of their first rows; a file has names or numbers.
  void write(EncodedRow& row, int64_t row_number) {
    const bool numbered = encoder_.kind() == ExampleKind::classes && !row.class_name;
    if ((numbered && !names_.empty()) || (row.class_name && numbers_))
      return skip(
          fmt::format("'{}', row {}: '{}' is a {}, and in rows before it a {}: expected one kind of classes",
                      reader_.file(), row_number, encoder_.columns().back().name,
                      numbered ? "number" : "text", numbered ? "text" : "number"));
    numbers_ |= numbered;
    if (row.class_name) row.example.labels = {number_of(*row.class_name)};
    out_.add(row.example);
  }

  int32_t number_of(const std::string& class_name) {
    const int32_t number = names_.emplace(class_name, static_cast<int32_t>(names_.size())).first->second;
    if (names_.size() > kMostClasses)
      fail_with(Status::invalid_file, "'{}': more than {} classes: is the column of the label right?",
                reader_.file(), kMostClasses);
    return number;
  }

  static constexpr size_t kParts = 64;  // of a block, for threads to share

  RowReader& reader_;
  const RowEncoder& encoder_;
  BadRows bad_rows_;
  ExampleWriter& out_;
  std::map<std::string, int32_t> names_;
  bool numbers_ = false;
};

void encode_to(const fs::path& directory, const fs::path& file, RowFormat format, const RowEncoder& encoder,
               BadRows bad_rows) {
  const auto reader = open_rows(file, format, encoder.columns());
  ExampleWriter out(directory, encoder.kind());
  FileEncoding(*reader, encoder, bad_rows, out).run();
  out.finish();
}

std::string key_of(const fs::path& file, RowFormat format, const RowEncoder& encoder, BadRows bad_rows) {
  const MappedFile mapped(file);
  Checksum content, settings;
  content.add(mapped.bytes());
  const std::string text = fmt::format("1 {} {} {}", name(format), static_cast<int>(bad_rows), encoder.key());
  settings.add(std::as_bytes(std::span(text)));
  return fmt::format("{}-{:x}-{}", content.hex(), mapped.bytes().size(), settings.hex());
}

/// Encodes into a temporary directory, whose files stay mapped after its end.
std::shared_ptr<const ExampleSet> encode_once(const fs::path& file, RowFormat format,
                                              const RowEncoder& encoder, BadRows bad_rows) {
  struct Temporary {
    std::string path = (fs::temp_directory_path() / "smelt_rows_XXXXXX").string();
    Temporary() {
      if (::mkdtemp(path.data()) == nullptr)
        fail_with(Status::io, "'{}': a directory for encoded rows cannot be made there",
                  fs::temp_directory_path().string());
    }
    Temporary(const Temporary&) = delete;
    Temporary& operator=(const Temporary&) = delete;
    ~Temporary() {
      std::error_code ignored;
      fs::remove_all(path, ignored);
    }
  } temporary;
  const fs::path directory = fs::path(temporary.path) / "rows";
  encode_to(directory, file, format, encoder, bad_rows);
  return ExampleSet::open(directory);
}

/// Returns the directory of the cache; nothing if it cannot be written to.
std::optional<fs::path> data_cache() {
  const fs::path cache = cache_directory();
  if (cache.empty()) return std::nullopt;
  try {
    make_directories(cache / "data");
  } catch (const Error&) {
    return std::nullopt;
  }
  return cache / "data";
}

/// Removes what processes that were killed have left of this result. Requires: its lock.
void remove_unfinished(const fs::path& directory) {
  const std::string name = directory.filename().string() + ".";
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(directory.parent_path()))
    if (const std::string found = entry.path().filename().string();
        found.starts_with(name) && !found.ends_with(".lock"))
      fs::remove_all(entry.path(), ignored);
}

}  // namespace

std::shared_ptr<const ExampleSet> encode_rows(const fs::path& file, RowFormat format,
                                              const RowEncoder& encoder, BadRows bad_rows) {
  const auto cache = data_cache();
  if (!cache || !fs::is_regular_file(file)) return encode_once(file, format, encoder, bad_rows);
  const fs::path directory = *cache / key_of(file, format, encoder, bad_rows);
  const fs::path lock_directory = directory.string() + ".lock";
  if (!fs::is_directory(directory)) {
    make_directories(lock_directory);
    const ProcessLock lock = ProcessLock::wait_for(lock_directory);
    const auto remove_lock = [](const fs::path* path) {
      std::error_code ignored;
      fs::remove(*path, ignored);
    };
    const std::unique_ptr<const fs::path, decltype(remove_lock)> at_end(&lock_directory, remove_lock);
    remove_unfinished(directory);
    if (!fs::is_directory(directory)) encode_to(directory, file, format, encoder, bad_rows);
  }
  return ExampleSet::open(directory);
}

}  // namespace smelt::cli
