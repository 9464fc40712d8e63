// Paths in bodies of requests, which must lead below a directory that the server was started with.
#pragma once

#include <filesystem>
#include <string>

namespace smelt::server {

/// Returns the whole path of `path` below `directory`, without symbolic links. Throws ApiError (status 400)
/// for the member `name` of a body if the path or a link leads elsewhere. `option`: the option that specifies
/// the directory. Requires: `directory` is a whole path without symbolic links.
std::filesystem::path path_below(const std::filesystem::path& directory, const std::string& path,
                                 const char* name, const char* option);

}  // namespace smelt::server
