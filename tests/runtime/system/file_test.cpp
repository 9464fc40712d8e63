#include "runtime/system/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <thread>

#include "runtime/base/error.h"
#include "runtime/engine/weights/safetensors.h"
#include "runtime/plan/plan_file.h"
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

size_t files_in(const TemporaryDirectory& d) {
  const std::filesystem::directory_iterator all(d.path());
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

TEST(AtomicFile, WritesToDevicesAndFifosAndLeavesThem) {
  const TemporaryDirectory d;
  write_file("/dev/null", "text");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  EXPECT_EQ(refusal([] { write_file("/dev/full", "text"); }).substr(0, 26), "cannot write '/dev/full': ");
  ASSERT_EQ(::mkfifo((d / "fifo").c_str(), 0600), 0);
  std::string read;
  std::thread reader([&] {
    std::ifstream in(d / "fifo");
    std::getline(in, read);
  });
  write_file(d / "fifo", "through a pipe\n");
  reader.join();
  EXPECT_EQ(read, "through a pipe");
  EXPECT_TRUE(std::filesystem::is_fifo(d / "fifo"));
  EXPECT_EQ(files_in(d), 1u);
}

/// Another description of the same file would begin at its first byte again.
TEST(AtomicFile, WritesToOwnDescriptorsWhereTheyAre) {
  const TemporaryDirectory d;
  const int descriptor = ::open((d / "log").c_str(), O_WRONLY | O_CREAT, 0600);
  ASSERT_EQ(::write(descriptor, "first ", 6), 6);
  write_file(fmt::format("/dev/fd/{}", descriptor), "second");
  ASSERT_EQ(::write(descriptor, " third", 6), 6);
  ::close(descriptor);
  EXPECT_EQ(read_text_file(d / "log"), "first second third");
}

TEST(AtomicFile, ReplacesWhatALinkLeadsTo) {
  const TemporaryDirectory d;
  std::filesystem::create_directory(d / "other");
  write_file(d / "other/file", "old");
  std::filesystem::create_symlink("other/file", d / "link");
  std::filesystem::create_symlink("link", d / "second");
  write_file(d / "second", "new");
  EXPECT_EQ(read_text_file(d / "other/file"), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(d / "link") && std::filesystem::is_symlink(d / "second"));
  std::filesystem::create_symlink("round", d / "round");
  refusal([&] { write_file(d / "round", "x"); });
}

TEST(AtomicFile, RefusesDirectoriesBeforeAnythingIsWritten) {
  const TemporaryDirectory d;
  EXPECT_EQ(refusal([&] { AtomicFile file(d.path()); }),
            fmt::format("cannot write '{}': Is a directory", d.path().string()));
  EXPECT_EQ(files_in(d), 0u);
}

/// The first temporary was left by a process that was killed, the others are written or of another file.
TEST(AtomicFile, RemovesWhatKilledProcessesHaveLeft) {
  const TemporaryDirectory d;
  d.write("a.12.smelt-partial", "stale"), d.write("b.12.smelt-partial", "of another file");
  const pid_t child = ::fork();
  if (child == 0) {
    AtomicFile file(d / "a");
    file.write("half");
    ::pause();
  }
  ::usleep(50'000);
  write_file(d / "a", "whole");
  EXPECT_EQ(read_text_file(d / "a"), "whole");
  EXPECT_FALSE(std::filesystem::exists(d / "a.12.smelt-partial"));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  write_file(d / "a", "again");
  EXPECT_EQ(files_in(d), 2u) << "a, and the temporary of b";
  remove_stale_temporaries(d.path());
  EXPECT_EQ(files_in(d), 1u);
}

}  // namespace
}  // namespace smelt
