#include "frontend/data/images/image_files.h"

#include <algorithm>
#include <charconv>

#include "runtime/base/in_parallel.h"
#include "runtime/system/cache_directory.h"
#include "runtime/system/file.h"

namespace smelt {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kLargestFile = int64_t{1} << 28;  // bytes: a file is in memory as a whole
constexpr size_t kFilesAtOnce = 512;                // between which a check may stop

std::string bytes_of(const ImageFile& file) {
  const ImageFile now = find_image_file(file.path, file.label);
  if (now.bytes != file.bytes || now.time != file.time)
    fail_with(Status::io, "the file has changed since the run began: start it again");
  if (file.bytes > kLargestFile)
    fail_with(Status::invalid_file, "it has {} bytes: expected at most {}", file.bytes, kLargestFile);
  return read_text_file(file.path);
}

void decode_file(const std::string& bytes, const ImageProcessor& processor, const ImageShape& shape,
                 std::span<float> out) {
  const Image image = decode_image(std::as_bytes(std::span(bytes)), processor.channels());
  processor.process(image, shape.height, shape.width, out);
}

std::string in_file(const ImageFile& file, const Error& error) {
  const std::string text = error.what(), path = file.path.string();
  return text.find(path) == text.npos ? fmt::format("'{}': {}", path, text) : text;
}

/// The result of a check: a message if the file cannot be used, and the kind of its fault.
struct Checked {
  std::string fault = {};
  Status status = Status::ok;
};

Checked check_image(ImageFile& file, const ImageProcessor& processor, const ImageShape& shape) {
  std::vector<float> values(static_cast<size_t>(shape.channels * shape.height * shape.width));
  try {
    const std::string bytes = bytes_of(file);
    decode_file(bytes, processor, shape, values);
    Checksum sum;
    sum.add(std::as_bytes(std::span(bytes)));
    file.sum = std::max<uint64_t>(1, sum.value());
    return {};
  } catch (const Error& error) {
    return {in_file(file, error), error.status()};
  }
}

/// Whether the result follows from the content of the file, and not from the state of the machine.
bool lasts(const Checked& checked) {
  return checked.status == Status::ok || checked.status == Status::invalid_file;
}

/// Checks the files in parallel. Returns false if one of the results may be another the next time.
bool check_part(std::span<ImageFile> files, std::span<std::string> faults, const ImageProcessor& processor,
                const ImageShape& shape) {
  std::vector<Checked> checked(files.size());
  in_parallel(files.size(), [&](size_t i) { checked[i] = check_image(files[i], processor, shape); });
  std::ranges::transform(checked, faults.begin(), &Checked::fault);
  return std::ranges::all_of(checked, lasts);
}

std::string key_of_files(std::span<const ImageFile> files, const ImageProcessor& processor,
                         const ImageShape& shape) {
  Checksum sum;
  const auto add = [&](std::string_view text) { sum.add(std::as_bytes(std::span(text))); };
  for (const ImageFile& file : files)
    add(fmt::format("{} {} {}", fs::absolute(file.path).string(), file.bytes, file.time));
  add(fmt::format("2 {} {} {} {}", processor.key(), shape.channels, shape.height, shape.width));
  return sum.hex();
}

/// Results in the cache: a line per file, which is its checksum, or a message after '!'.
std::string lines_of(std::span<const ImageFile> files, std::span<const std::string> faults) {
  std::string text;
  for (size_t i = 0; i < files.size(); ++i)
    text += faults[i].empty() ? fmt::format("{:x}\n", files[i].sum) : "!" + faults[i] + "\n";
  return text;
}

/// Returns nothing if the text does not have a line per file.
std::optional<std::vector<std::string>> read_lines(std::string_view text, std::span<ImageFile> files) {
  std::vector<std::string> faults;
  for (ImageFile& file : files) {
    const size_t end = text.find('\n');
    if (end == text.npos || end == 0) return std::nullopt;
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    faults.emplace_back(line.starts_with('!') ? line.substr(1) : "");
    if (line.starts_with('!')) continue;
    const auto read = std::from_chars(line.data(), line.data() + line.size(), file.sum, 16);
    if (read.ec != std::errc() || read.ptr != line.data() + line.size()) return std::nullopt;
  }
  return text.empty() ? std::optional(faults) : std::nullopt;
}

std::optional<std::vector<std::string>> cached_check(const fs::path& file, std::span<ImageFile> files) {
  try {
    return fs::is_regular_file(file) ? read_lines(read_text_file(file), files) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

ImageFile find_image_file(const fs::path& path, int32_t label) {
  std::error_code error, second;
  const auto bytes = fs::file_size(path, error);
  const auto time = fs::last_write_time(path, second);
  if (error || second) fail_with(Status::io, "'{}': {}", path.string(), (error ? error : second).message());
  return {path, label, static_cast<int64_t>(bytes), time.time_since_epoch().count(), 0};
}

std::vector<std::string> check_images(std::span<ImageFile> files, const ImageProcessor& processor,
                                      const ImageShape& shape, bool stops) {
  const fs::path cache = cache_directory();
  const fs::path stored =
      cache.empty() ? fs::path() : cache / "data" / ("images-" + key_of_files(files, processor, shape));
  if (auto faults = cached_check(stored, files)) return *faults;
  std::vector<std::string> faults(files.size());
  bool last = true;
  for (size_t begin = 0; begin < files.size(); begin += kFilesAtOnce) {
    const size_t count = std::min(kFilesAtOnce, files.size() - begin);
    const auto made = std::span(faults).subspan(begin, count);
    last &= check_part(files.subspan(begin, count), made, processor, shape);
    if (stops && std::ranges::any_of(made, [](const std::string& fault) { return !fault.empty(); }))
      return faults;
  }
  const std::string text = lines_of(files, faults);
  if (last && !cache.empty()) write_cache_file(stored, {std::as_bytes(std::span(text))});
  return faults;
}

void read_image(const ImageFile& file, const ImageProcessor& processor, const ImageShape& shape,
                std::span<float> out) {
  try {
    decode_file(bytes_of(file), processor, shape, out);
  } catch (const Error& error) {
    fail_with(error.status(), "{}", in_file(file, error));
  }
}

void read_image_files(std::span<const ImageFile> files, const ImageProcessor& processor,
                      const ImageShape& shape, std::span<float> out) {
  const auto each = static_cast<size_t>(shape.channels * shape.height * shape.width);
  in_parallel(files.size(),
              [&](size_t i) { read_image(files[i], processor, shape, out.subspan(i * each, each)); });
}

std::string ImageFiles::fingerprint() const {
  Checksum sum;
  for (const ImageFile& file : files_) {
    const uint64_t numbers[] = {file.sum, static_cast<uint64_t>(file.label)};
    sum.add(std::as_bytes(std::span(numbers)));
  }
  const std::string key = processor_.key();
  sum.add(std::as_bytes(std::span(key)));
  return sum.hex();
}

}  // namespace smelt
