// The folders in which libraries of CUDA are looked for.
#include "runtime/system/dynamic_library.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace smelt {
namespace {

TEST(DynamicLibrary, PackagesOfTheEnvironmentAreLookedInto) {
  const std::filesystem::path home = ::testing::TempDir() + "library_environment";
  const std::filesystem::path nvrtc = home / "lib/python3.11/site-packages/nvidia/cu13/lib";
  std::filesystem::create_directories(nvrtc);
  std::filesystem::create_directories(nvrtc.parent_path().parent_path() / "no_library/include");
  const auto folders = package_folders([&](std::string_view name) {
    return name == "VIRTUAL_ENV" ? std::optional(home.string()) : std::nullopt;
  });
  EXPECT_EQ(folders, std::vector{nvrtc.string()});
}

TEST(DynamicLibrary, WithoutAnEnvironmentThereAreNoPackages) {
  EXPECT_TRUE(package_folders([](std::string_view) { return std::nullopt; }).empty());
}

}  // namespace
}  // namespace smelt
