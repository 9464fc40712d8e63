#include "compiler/server/path_below.h"

#include <algorithm>

#include "runtime/engine/serving/api_error.h"
#include "runtime/system/json_text.h"

namespace smelt::server {

/// Links are resolved first, so that none leads out of the directory.
std::filesystem::path path_below(const std::filesystem::path& directory, const std::string& path,
                                 const char* name, const char* option) {
  std::error_code fault;
  const std::filesystem::path whole = std::filesystem::weakly_canonical(directory / path, fault);
  const auto differs = std::ranges::mismatch(directory, whole);
  if (fault || path.find('\0') != std::string::npos || differs.in1 != directory.end())
    throw ApiError(
        http::kBadRequest,
        fmt::format("{} = {}: expected one below the directory of {}", name, brief(Json(path)), option), name,
        "invalid_value");
  return whole;
}

}  // namespace smelt::server
