#include "runtime/engine/training/event_file.h"

#include <gtest/gtest.h>

#include "runtime/system/file.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

std::vector<std::string> event_files(const TemporaryDirectory& d) {
  std::vector<std::string> texts;
  for (const auto& entry : std::filesystem::directory_iterator(d / "events")) {
    EXPECT_EQ(entry.path().filename().string().rfind("events.out.tfevents.", 0), 0u);
    texts.push_back(read_text_file(entry.path()));
  }
  return texts;
}

/// The check value of CRC-32C, and a vector of RFC 3720 (B.4).
TEST(Crc32c, HasTheKnownValues) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
}

TEST(EventFile, HasRecordsOfTheirLengths) {
  const TemporaryDirectory d;
  {
    EventFile file(d / "events", 0);
    file.add_scalar(3, "train/loss", 2.5);
    file.add_text(4, "sample", "a text");
    file.flush();
  }
  const std::vector<std::string> files = event_files(d);
  ASSERT_EQ(files.size(), 1u);
  size_t at = 0, records = 0;
  for (; at < files[0].size(); ++records) {
    uint64_t length = 0;
    std::memcpy(&length, files[0].data() + at, sizeof length);
    at += 8 + 4 + length + 4;
  }
  EXPECT_EQ(at, files[0].size());
  EXPECT_EQ(records, 3u) << "the version, a number and a text";
  EXPECT_HAS(files[0], "brain.Event:2");
  EXPECT_HAS(files[0], "train/loss");
}

TEST(EventFile, AResumedRunBeginsAnother) {
  const TemporaryDirectory d;
  for (const int64_t first : {0, 10}) EventFileObserver(d / "events").started(first, 20);
  EXPECT_EQ(event_files(d).size(), 2u);
}

}  // namespace
}  // namespace smelt
