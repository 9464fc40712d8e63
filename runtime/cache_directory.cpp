#include "runtime/cache_directory.h"

#include <unistd.h>

#include <cstdlib>

namespace smelt {

namespace fs = std::filesystem;

namespace {

fs::path environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// The directory, or the first above it that exists.
bool is_writable(fs::path place) {
  std::error_code error;
  while (!fs::exists(place, error) && place.has_relative_path()) place = place.parent_path();
  return fs::is_directory(place, error) && ::access(place.c_str(), W_OK | X_OK) == 0;
}

}  // namespace

fs::path cache_directory() {
  if (const auto own = environment("SMELT_CACHE_DIR"); !own.empty()) return own;
  if (const auto base = environment("XDG_CACHE_HOME"); !base.empty()) return base / "smelt";
  const auto home = environment("HOME");
  return home.empty() ? home : home / ".cache" / "smelt";
}

/// Other processes may add and remove files meanwhile: what cannot be looked at does not count.
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

}  // namespace smelt
