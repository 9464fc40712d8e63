#include "runtime/system/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <functional>

#include "runtime/error.h"
#include "runtime/plan/plan_file.h"
#include "runtime/weights/safetensors.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

using namespace std::string_literals;

std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::io);
    return error.what();
  }
  return "accepted";
}

TEST(File, TextIsReadAsAWhole) {
  const TemporaryDirectory d;
  const std::string text = "line\nbyte \0 and end"s;
  write_file(d / "a", text);
  EXPECT_EQ(read_text_file(d / "a"), text);
  write_file(d / "a", "");
  EXPECT_EQ(read_text_file(d / "a"), "");
}

/// Opening a pipe for reading waits until somebody writes: the alarm ends a test that does.
TEST(File, PipesDirectoriesAndDevicesAreRefusedAtOnce) {
  const TemporaryDirectory d;
  ASSERT_EQ(::mkfifo((d / "pipe").c_str(), 0600), 0);
  ::alarm(20);
  const std::string expected = "is not a regular file: expected one, not a directory, a pipe or a device";
  for (const std::filesystem::path& path : {d / "pipe", d.path(), std::filesystem::path("/dev/zero")}) {
    EXPECT_EQ(refusal([&] { MappedFile file(path); }), fmt::format("'{}' {}", path.string(), expected));
    EXPECT_EQ(refusal([&] { read_text_file(path); }), fmt::format("'{}' {}", path.string(), expected));
    EXPECT_FALSE(is_plan_file(path));
  }
  d.write("model.safetensors.index.json", R"({"weight_map": {"a": "pipe"}})");
  EXPECT_EQ(refusal([&] { Checkpoint::open(d.path()); }),
            fmt::format("'{}' {}", (d / "pipe").string(), expected));
  ::alarm(0);
}

}  // namespace
}  // namespace smelt
