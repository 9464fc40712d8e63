#include "runtime/system/dynamic_library.h"

#include <dlfcn.h>
#include <fmt/ranges.h>
#include <link.h>

#include <algorithm>
#include <filesystem>

#include "runtime/base/error.h"

namespace smelt {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> sorted_entries(const fs::path& folder) {
  std::error_code ignored;
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) found.push_back(entry.path());
  std::ranges::sort(found);
  return found;
}

/// The folder of Python packages that has the file of this code, if one has.
fs::path own_site_packages() {
  Dl_info self{};
  if (::dladdr(reinterpret_cast<const void*>(&toolkit_folders), &self) == 0 || !self.dli_fname) return {};
  const fs::path folder = fs::path(self.dli_fname).parent_path().parent_path();
  return folder.is_absolute() && folder.filename().string().ends_with("-packages") ? folder : fs::path();
}

std::vector<fs::path> site_packages(const Environment& variables) {
  std::vector<fs::path> sites;
  if (fs::path own = own_site_packages(); !own.empty()) sites.push_back(std::move(own));
  if (const auto environment = read_text(EnvironmentVariable::VIRTUAL_ENV, variables))
    for (const fs::path& python : sorted_entries(fs::path(*environment) / "lib"))
      sites.push_back(python / "site-packages");
  return sites;
}

std::vector<std::string> library_folders() {
  std::vector<std::string> folders = toolkit_folders();
  const std::vector<std::string> packages = package_folders();
  folders.insert(folders.end(), packages.begin(), packages.end());
  return folders;
}

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
  const std::vector<std::string> folders = library_folders();
  for (const char* name : names) {
    std::vector<std::string> candidates = {name};
    for (const std::string& folder : folders) candidates.push_back(folder + "/" + name);
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

std::vector<std::string> package_folders(const Environment& variables) {
  std::vector<std::string> folders;
  for (const fs::path& site : site_packages(variables))
    for (const fs::path& package : sorted_entries(site / "nvidia"))
      if (std::error_code ignored; fs::is_directory(package / "lib", ignored))
        folders.push_back((package / "lib").string());
  return folders;
}

DynamicLibrary::DynamicLibrary(std::string_view what, std::span<const char* const> names) : what_(what) {
  Found found = find(names);
  if (!found.handle)
    fail_with(Status::unavailable, "{} was not found: looked for {} in the loader's path and in {}", what,
              fmt::join(names, ", "), fmt::join(library_folders(), ", "));
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
