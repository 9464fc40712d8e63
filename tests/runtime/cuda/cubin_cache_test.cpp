// The cache of machine code: what is damaged is not there, what cannot be written is no error, two processes
// share it.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "runtime/cuda/cubin_cache.h"
#include "runtime/system/cache_directory.h"
#include "runtime/system/file.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

namespace fs = std::filesystem;

Cubin some_cubin(int seed, size_t size = 1000) {
  Cubin cubin;
  for (size_t i = 0; i < size; ++i) cubin.bytes.push_back(static_cast<std::byte>(i * 7 + seed));
  cubin.resources = {
      .registers = 40 + seed, .stack_bytes = 0, .spill_bytes = 0, .shared_bytes = 128, .serial_products = 3};
  return cubin;
}

class CubinCacheTest : public ::testing::Test {
 protected:
  TemporaryDirectory directory_;
  CubinCache cache_{directory_.path()};
  const std::string key_ = CubinCache::key("some text");
};

TEST_F(CubinCacheTest, GivesBackWhatWasWritten) {
  EXPECT_FALSE(cache_.read(key_));
  cache_.write(key_, some_cubin(1));
  const auto found = cache_.read(key_);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->bytes, some_cubin(1).bytes);
  EXPECT_EQ(found->resources.registers, 41);
  EXPECT_EQ(found->resources.serial_products, 3);
  EXPECT_FALSE(is_lean(found->resources));
  EXPECT_TRUE(found->from_cache);
  EXPECT_FALSE(cache_.read(CubinCache::key("some other text")));
}

TEST_F(CubinCacheTest, KeysDependOnEveryByte) {
  EXPECT_EQ(CubinCache::key("a"), CubinCache::key("a"));
  EXPECT_NE(CubinCache::key("a"), CubinCache::key("b"));
  EXPECT_NE(CubinCache::key("ab"), CubinCache::key("ba"));
  EXPECT_EQ(CubinCache::key("").size(), 32u);
}

TEST_F(CubinCacheTest, EveryDamagedByteIsNoticed) {
  cache_.write(key_, some_cubin(2, 40));
  const fs::path file = cache_.file(key_);
  const std::string good = read_text_file(file);
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x20);
    std::ofstream(file, std::ios::binary) << bad;
    EXPECT_FALSE(cache_.read(key_)) << "byte " << i;
  }
  for (size_t length : {size_t{0}, size_t{5}, good.size() / 2, good.size() - 1}) {
    std::ofstream(file, std::ios::binary) << good.substr(0, length);
    EXPECT_FALSE(cache_.read(key_)) << length << " bytes";
  }
  std::ofstream(file, std::ios::binary) << good << "x";
  EXPECT_FALSE(cache_.read(key_)) << "too long";
  cache_.write(key_, some_cubin(2, 40));
  EXPECT_TRUE(cache_.read(key_)) << "and it is made again";
}

TEST_F(CubinCacheTest, AnEntryOfAnotherNameIsNotTaken) {
  const std::string other = CubinCache::key("other");
  cache_.write(key_, some_cubin(3));
  fs::create_directories(cache_.file(other).parent_path());
  fs::copy_file(cache_.file(key_), cache_.file(other));
  EXPECT_FALSE(cache_.read(other));
}

TEST_F(CubinCacheTest, ADirectoryThatCannotBeWrittenIsNoError) {
  const CubinCache nowhere(fs::path("/proc/no/such/place")), none(std::nullopt);
  nowhere.write(key_, some_cubin(4));
  none.write(key_, some_cubin(4));
  EXPECT_FALSE(nowhere.read(key_));
  EXPECT_FALSE(none.read(key_));
  std::ofstream(directory_.path() / "kernels") << "a file where the directory would be";
  cache_.write(key_, some_cubin(4));
  EXPECT_FALSE(cache_.read(key_));
}

/// What a full disk does: writing stops at some byte.
TEST_F(CubinCacheTest, AFullDiskLeavesNothingBehind) {
  for (const rlim_t limit : {0, 10, 500, 1060}) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::signal(SIGXFSZ, SIG_IGN);  // the write fails instead
      const rlimit size{limit, limit};
      ::setrlimit(RLIMIT_FSIZE, &size);
      cache_.write(key_, some_cubin(6));
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    EXPECT_FALSE(cache_.read(key_)) << limit;
    for (const auto& entry : fs::recursive_directory_iterator(directory_.path()))
      EXPECT_FALSE(entry.is_regular_file()) << entry.path();
  }
}

TEST_F(CubinCacheTest, TwoProcessesWriteOneEntry) {
  const pid_t child = ::fork();
  for (int i = 0; i < 300; ++i) {
    cache_.write(key_, some_cubin(5, 20000));
    const auto found = cache_.read(key_);
    const bool whole = found && found->bytes == some_cubin(5, 20000).bytes;
    if (child == 0 && !whole) ::_exit(1);
    ASSERT_TRUE(whole) << i;
  }
  if (child == 0) ::_exit(0);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(directory_.path()))
    files += entry.is_regular_file();
  EXPECT_EQ(files, 1u) << "no temporary is left";
}

TEST(CubinCacheDirectory, ItsContentsAreCounted) {
  const TemporaryDirectory d;
  ::setenv("SMELT_CACHE_DIR", d.path().c_str(), 1);
  EXPECT_EQ(cache_contents().files, 0);
  CubinCache(d.path()).write(CubinCache::key("x"), some_cubin(1));
  d.write("other", "12345");
  const CacheContents contents = cache_contents();
  EXPECT_EQ(contents.directory, d.path());
  EXPECT_EQ(contents.files, 2);
  EXPECT_GT(contents.bytes, 1005);
  EXPECT_TRUE(contents.writable);
  for (const fs::path& place : {d / "not" / "there" / "yet", d / "other" / "below a file"}) {
    ::setenv("SMELT_CACHE_DIR", place.c_str(), 1);
    EXPECT_EQ(cache_contents().files, 0) << place;
    EXPECT_EQ(cache_contents().writable, place == d / "not" / "there" / "yet") << place;
  }
  ::unsetenv("SMELT_CACHE_DIR");
}

TEST(CubinCacheDirectory, FollowsTheEnvironment) {
  ::setenv("SMELT_CACHE_DIR", "/a/b", 1);
  EXPECT_EQ(CubinCache::default_directory(), fs::path("/a/b"));
  ::unsetenv("SMELT_CACHE_DIR");
  ::setenv("XDG_CACHE_HOME", "/c", 1);
  EXPECT_EQ(CubinCache::default_directory(), fs::path("/c/smelt"));
  ::unsetenv("XDG_CACHE_HOME");
}

}  // namespace
}  // namespace smelt
