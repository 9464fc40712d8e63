#include "runtime/system/dynamic_library.h"

#include <dlfcn.h>
#include <fmt/ranges.h>
#include <link.h>

#include <algorithm>

#include "runtime/base/error.h"
#include "runtime/system/environment.h"

namespace smelt {
namespace {

void* open_library(const std::string& path) {
  return ::dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
}

std::string path_of(void* library, const std::string& name) {
  link_map* map = nullptr;
  const bool known = ::dlinfo(library, RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0 && map && *map->l_name;
  return known ? map->l_name : name;
}

struct Found {
  void* handle = nullptr;
  std::string path;
};

Found find(std::span<const char* const> names) {
  for (const char* name : names) {
    std::vector<std::string> candidates = {name};
    for (const std::string& folder : toolkit_folders()) candidates.push_back(folder + "/" + name);
    for (const std::string& candidate : candidates)
      if (void* library = open_library(candidate)) return {library, path_of(library, candidate)};
  }
  return {};
}

}  // namespace

std::vector<std::string> toolkit_folders() {
  std::vector<std::string> folders;
  for (const EnvironmentVariable variable : {EnvironmentVariable::CUDA_HOME, EnvironmentVariable::CUDA_PATH})
    if (const auto home = read_text(variable)) folders.push_back(*home + "/lib64");
  for (const char* usual : {"/usr/local/cuda/lib64", "/usr/local/cuda/targets/x86_64-linux/lib"})
    if (std::ranges::find(folders, usual) == folders.end()) folders.emplace_back(usual);
  return folders;
}

DynamicLibrary::DynamicLibrary(std::string_view what, std::span<const char* const> names) : what_(what) {
  Found found = find(names);
  if (!found.handle)
    fail_with(Status::unavailable, "{} was not found: looked for {} in the loader's path and in {}", what,
              fmt::join(names, ", "), fmt::join(toolkit_folders(), ", "));
  handle_ = found.handle;
  path_ = std::move(found.path);
}

void* DynamicLibrary::symbol(const char* name) const {
  void* address = ::dlsym(handle_, name);
  if (!address)
    fail_with(Status::unavailable, "{} ({}) has no function '{}': a newer version is needed", what_, path_,
              name);
  return address;
}

}  // namespace smelt
