#include "runtime/cache_directory.h"

#include <cstdlib>

namespace smelt {
namespace {

std::filesystem::path environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

std::filesystem::path cache_directory() {
  if (const auto own = environment("SMELT_CACHE_DIR"); !own.empty()) return own;
  if (const auto base = environment("XDG_CACHE_HOME"); !base.empty()) return base / "smelt";
  const auto home = environment("HOME");
  return home.empty() ? home : home / ".cache" / "smelt";
}

}  // namespace smelt
