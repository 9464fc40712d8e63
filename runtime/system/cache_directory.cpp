#include "runtime/system/cache_directory.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <fstream>
#include <vector>

#include "runtime/system/environment.h"

namespace smelt {

namespace fs = std::filesystem;

namespace {

/// The directory, or the first above it that exists.
bool is_writable(fs::path place) {
  std::error_code error;
  while (!fs::exists(place, error) && place.has_relative_path()) place = place.parent_path();
  return fs::is_directory(place, error) && ::access(place.c_str(), W_OK | X_OK) == 0;
}

/// Returns a path that is unique for every call, also across processes.
fs::path temporary_beside(const fs::path& path) {
  static std::atomic<unsigned> counter = 0;
  fs::path temporary = path;
  temporary += "." + std::to_string(::getpid()) + "-" + std::to_string(counter++) + ".tmp";
  return temporary;
}

}  // namespace

fs::path cache_directory() {
  if (const auto own = read_text(EnvironmentVariable::SMELT_CACHE_DIR)) return *own;
  if (const auto base = read_text(EnvironmentVariable::XDG_CACHE_HOME)) return fs::path(*base) / "smelt";
  const auto home = read_text(EnvironmentVariable::HOME);
  return home ? fs::path(*home) / ".cache" / "smelt" : fs::path();
}

/// Other processes may add and remove files meanwhile: files that cannot be read are not counted.
std::string file_name_part(std::string text) {
  std::ranges::replace_if(text, [](unsigned char c) { return !std::isalnum(c); }, '-');
  return text;
}

CacheContents cache_contents() {
  CacheContents cache{.directory = cache_directory()};
  std::error_code error, ignored;
  for (fs::recursive_directory_iterator at(cache.directory, error), end; !error && at != end;
       at.increment(error)) {
    const auto bytes = at->is_regular_file(ignored) ? at->file_size(ignored) : uintmax_t{0};
    if (!ignored) cache.files += at->is_regular_file(ignored), cache.bytes += static_cast<int64_t>(bytes);
  }
  cache.writable = !cache.directory.empty() && is_writable(fs::absolute(cache.directory, ignored));
  return cache;
}

bool write_cache_file(const fs::path& path, std::initializer_list<std::span<const std::byte>> parts) {
  std::error_code problem, ignored;
  fs::create_directories(path.parent_path(), problem);
  const fs::path temporary = temporary_beside(path);
  std::ofstream out(temporary, std::ios::binary);
  for (const auto part : parts)
    out.write(reinterpret_cast<const char*>(part.data()), static_cast<std::streamsize>(part.size()));
  out.close();
  if (out.good()) {
    fs::rename(temporary, path, problem);
    if (!problem) return true;
  }
  fs::remove(temporary, ignored);
  return false;
}

void trim_cache(const fs::path& directory, int64_t most_bytes) {
  struct File {
    fs::file_time_type time;
    fs::path path;
    int64_t bytes;
  };
  std::vector<File> files;
  int64_t total = 0;
  std::error_code error, gone;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    const auto bytes = at->is_regular_file(gone) ? static_cast<int64_t>(at->file_size(gone)) : 0;
    const auto time = gone ? fs::file_time_type() : at->last_write_time(gone);
    if (gone || bytes == 0) continue;
    files.push_back({time, at->path(), bytes}), total += bytes;
  }
  std::ranges::sort(files, {}, &File::time);
  for (size_t i = 0; i < files.size() && total > most_bytes; ++i) {
    if (fs::remove(files[i].path, gone)) total -= files[i].bytes;
  }
}

}  // namespace smelt
