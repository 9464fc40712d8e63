#include "runtime/engine/data/token_data.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "runtime/base/error.h"
#include "runtime/base/philox.h"
#include "runtime/system/file_kind.h"

namespace smelt {
namespace {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "token files are read in place, as little-endian");

constexpr size_t kHeaderBytes = 256 * sizeof(int32_t);
constexpr uint32_t kWindowId = 0x57494E44;  // its own stream of random numbers, different from dropout's ids

struct FormatRow {
  TokenFormat format;
  std::string_view name;
};
constexpr std::array<FormatRow, 4> kFormats = {{{TokenFormat::automatic, "automatic"},
                                                {TokenFormat::bytes, "bytes"},
                                                {TokenFormat::llmc, "llmc"},
                                                {TokenFormat::u16, "u16"}}};

/// llm.c's files: the first number of the header names the width, the second the version, the third the
/// count.
struct Magic {
  int32_t magic;
  int64_t width;
  std::array<int32_t, 2> versions;
};
constexpr std::array<Magic, 2> kMagics = {{{20240520, 2, {1, 1}}, {20240801, 4, {1, 7}}}};

const Magic* find_magic(std::span<const std::byte> bytes) {
  if (bytes.size() < kHeaderBytes) return nullptr;
  int32_t first;
  std::memcpy(&first, bytes.data(), sizeof first);
  const auto found = std::ranges::find(kMagics, first, &Magic::magic);
  return found == kMagics.end() ? nullptr : &*found;
}

int64_t llmc_count(const MappedFile& file, const Magic& magic) {
  std::array<int32_t, 3> header;
  std::memcpy(header.data(), file.bytes().data(), sizeof header);
  const std::string path = file.path().string();
  if (std::ranges::find(magic.versions, header[1]) == magic.versions.end())
    fail_with(Status::invalid_file, "'{}': llm.c token file of version {}, expected {}", path, header[1],
              magic.versions[0]);
  const auto held = static_cast<int64_t>(file.bytes().size() - kHeaderBytes) / magic.width;
  if (header[2] < 0 || header[2] > held)
    fail_with(Status::invalid_file, "'{}': its header promises {} tokens but the file holds {}: truncated?",
              path, header[2], held);
  return header[2];
}

template <typename T>
uint32_t largest(const std::byte* data, int64_t count) {
  T best = 0;
  for (int64_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, data + i * static_cast<int64_t>(sizeof(T)), sizeof value);
    best = std::max(best, value);
  }
  return best;
}

uint32_t largest(const std::byte* data, int64_t count, int64_t width) {
  if (width == 1) return largest<uint8_t>(data, count);
  return width == 2 ? largest<uint16_t>(data, count) : largest<uint32_t>(data, count);
}

uint32_t load(const std::byte* data, int64_t width) {
  uint32_t value = 0;
  std::memcpy(&value, data, static_cast<size_t>(width));
  return value;
}

/// Lines of JSON are texts, but those that are meant are their members.
bool holds_json_lines(const MappedFile& file) {
  const std::string extension = file.path().extension().string();
  const bool named = extension == ".jsonl" || extension == ".ndjson";
  return named && !file.bytes().empty() && file.bytes()[0] == std::byte{'{'};
}

/// Refuses files that are not text, though their bytes could be taken for text.
void require_text(const MappedFile& file) {
  const std::string path = file.path().string();
  constexpr std::string_view kTexts = "a text in UTF-8 or a token file (--data-format=bytes takes any bytes)";
  if (const auto kind = file_kind(file.bytes(), path))
    fail_with(Status::invalid_file, "{}", wrong_kind(path, *kind, kTexts));
  if (holds_json_lines(file))
    fail_with(Status::invalid_file, "{}",
              wrong_kind(path, {"a list of JSON objects", fmt::format("jq -r .text '{}' > data.txt", path)},
                         kTexts));
}

TokenFormat format_of(const MappedFile& file) {
  if (find_magic(file.bytes())) return TokenFormat::llmc;
  require_text(file);
  if (file.path().extension() == ".bin")
    fail_with(
        Status::invalid_file,
        "'{}': a .bin file without llm.c's header; say --data-format=u16 for headerless uint16 tokens or "
        "--data-format=bytes for its bytes",
        file.path().string());
  return TokenFormat::bytes;
}

void check_sizes(const TokenRange& range, int64_t batch, int64_t length) {
  if (batch < 1 || length < 2)
    fail(
        "batch of {} windows of {} tokens: expected at least 1 window of 2 tokens (the second is the target)",
        batch, length);
  if (!range.data) fail("no token data given");
}

}  // namespace

std::string_view name(TokenFormat format) { return kFormats[static_cast<size_t>(format)].name; }

std::optional<TokenFormat> parse_token_format(std::string_view name) {
  for (const FormatRow& r : kFormats)
    if (r.name == name) return r.format;
  return std::nullopt;
}

TokenFormat format_of(const std::filesystem::path& path) { return format_of(MappedFile(path)); }

int32_t TokenData::Piece::at(int64_t i) const {
  return static_cast<int32_t>(load(data() + i * width, width));
}

const std::byte* TokenData::Piece::data() const {
  return (set ? std::as_bytes(set->all_ids()).data() : file.bytes().data()) + header_bytes;
}

void TokenData::Piece::add_begins(std::vector<int64_t>& begins) const {
  begins.push_back(begin);
  if (!set) return;
  const auto first = static_cast<int64_t>(header_bytes) / width;
  const auto ends = set->ends();
  for (auto end = std::ranges::upper_bound(ends, first); end != ends.end() && *end < first + count; ++end)
    if (*end - first + begin > begins.back()) begins.push_back(*end - first + begin);
}

TokenData::Piece TokenData::open(const std::filesystem::path& path, TokenFormat format) {
  Piece piece{.file = MappedFile(path)};
  const auto bytes = static_cast<int64_t>(piece.file.bytes().size());
  const Magic* magic = find_magic(piece.file.bytes());
  if (format == TokenFormat::automatic) format = format_of(piece.file);
  if (format == TokenFormat::llmc) {
    if (!magic)
      fail_with(
          Status::invalid_file,
          "'{}': no llm.c header (256 int32 that begin with 20240520 or 20240801); headerless uint16 tokens "
          "need --data-format=u16",
          path.string());
    piece.width = magic->width, piece.header_bytes = kHeaderBytes;
    piece.count = llmc_count(piece.file, *magic);
  } else if (format == TokenFormat::u16) {
    if (bytes % 2 != 0)
      fail_with(Status::invalid_file, "'{}': {} bytes are no whole number of uint16 tokens", path.string(),
                bytes);
    piece.width = 2, piece.count = bytes / 2;
  } else {
    piece.count = bytes;
  }
  return piece;
}

void TokenData::check(const Piece& piece, int64_t vocabulary) {
  const std::byte* data = piece.data();
  if (piece.count == 0 || largest(data, piece.count, piece.width) < vocabulary) return;
  int64_t i = 0;
  while (load(data + i * piece.width, piece.width) < vocabulary) ++i;
  fail_with(Status::invalid_file, "'{}': token {} is {}, outside the model's vocabulary of {}",
            piece.file.path().string(), i, load(data + i * piece.width, piece.width), vocabulary);
}

TokenData::TokenData(const std::vector<std::filesystem::path>& files, TokenFormat format,
                     int64_t vocabulary) {
  if (files.empty()) fail("no data files given");
  for (const auto& path : files) {
    Piece piece = open(path, format);
    check(piece, vocabulary);
    piece.begin = size_;
    size_ += piece.count;
    if (piece.count > 0) pieces_.push_back(std::move(piece));
  }
  description_ = "'" + files[0].string() + "'";
  if (files.size() > 1) description_ += fmt::format(" and {} more", files.size() - 1);
}

TokenData::TokenData(const std::vector<TokenSlice>& slices, int64_t vocabulary, std::string description)
    : description_(std::move(description)) {
  for (const TokenSlice& slice : slices) {
    if (slice.set->facts().largest_id >= vocabulary)
      fail(
          "{}: the tokenizer has made the id {}, but the model's vocabulary has {} tokens: give the model "
          "the "
          "tokenizer that it was made with",
          description_, slice.set->facts().largest_id, vocabulary);
    if (slice.begin == slice.end) continue;
    pieces_.push_back({.set = slice.set,
                       .width = sizeof(int32_t),
                       .header_bytes = static_cast<size_t>(slice.begin) * sizeof(int32_t),
                       .count = slice.end - slice.begin,
                       .begin = size_});
    size_ += slice.end - slice.begin;
  }
}

void TokenData::read(int64_t begin, std::span<int32_t> tokens) const {
  auto piece = std::ranges::upper_bound(pieces_, begin, {}, &Piece::begin) - 1;
  for (int32_t& token : tokens) {
    while (begin - piece->begin >= piece->count) ++piece;
    token = piece->at(begin++ - piece->begin);
  }
}

std::string TokenData::fingerprint() const {
  Checksum sum;
  for (const Piece& piece : pieces_) sum.add({piece.data(), piece.bytes()});
  return sum.hex();
}

std::vector<int64_t> TokenData::file_begins() const {
  std::vector<int64_t> begins;
  for (const Piece& piece : pieces_) piece.add_begins(begins);
  return begins;
}

RandomWindows::RandomWindows(TokenRange range, int64_t batch, int64_t length, uint32_t seed)
    : range_(std::move(range)), batch_(batch), length_(length), seed_(seed) {
  check_sizes(range_, batch, length);
  if (range_.size() / batch < length)
    fail(
        "{}: {} tokens for training are less than one batch of {} windows of {} tokens; give more data, or a "
        "smaller "
        "batch or length",
        range_.data->description(), range_.size(), batch, length);
}

int64_t RandomWindows::start(int64_t step, int64_t micro_step, int64_t row) const {
  const Philox random{.seed = seed_,
                      .step = static_cast<uint32_t>(step),
                      .micro_step = static_cast<uint32_t>(micro_step) << 16};
  const auto w = random.words(kWindowId, static_cast<uint32_t>(row), 0);
  const uint64_t bits = uint64_t{w[1]} << 32 | w[0];
  const auto places = static_cast<uint64_t>(range_.size() - length_ + 1);
  return static_cast<int64_t>((static_cast<unsigned __int128>(bits) * places) >> 64);
}

void RandomWindows::fill(int64_t step, int64_t micro_step, std::span<int32_t> tokens) const {
  const auto length = static_cast<size_t>(length_);
  for (int64_t row = 0; row < batch_; ++row)
    range_.data->read(range_.begin + start(step, micro_step, row),
                      tokens.subspan(static_cast<size_t>(row) * length, length));
}

FixedWindows::FixedWindows(TokenRange range, int64_t batch, int64_t length, int64_t max_batches)
    : range_(std::move(range)), batch_(batch), length_(length) {
  check_sizes(range_, batch, length);
  if (max_batches < 1) fail("validation with {} batches: expected at least 1", max_batches);
  available_ = range_.size() / length;
  if (available_ == 0)
    fail(
        "{}: {} tokens held back for validation are less than one window of {} tokens; hold back a larger "
        "fraction, "
        "give a validation file, or turn validation off",
        range_.data->description(), range_.size(), length);
  windows_ = max_batches > available_ / batch ? available_ : max_batches * batch;
}

int64_t FixedWindows::rows(int64_t batch) const { return std::min(batch_, windows_ - batch * batch_); }

void FixedWindows::fill(int64_t batch, std::span<int32_t> tokens) const {
  const auto length = static_cast<size_t>(length_);
  for (int64_t row = 0; row < rows(batch); ++row) {
    const auto window = static_cast<unsigned __int128>(static_cast<uint64_t>(batch * batch_ + row));
    const auto place = static_cast<int64_t>(window * static_cast<uint64_t>(available_) / windows_);
    range_.data->read(range_.begin + place * length_,
                      tokens.subspan(static_cast<size_t>(row) * length, length));
  }
}

}  // namespace smelt
