#include "runtime/system/file_kind.h"

#include <gtest/gtest.h>

namespace smelt {
namespace {

using namespace std::string_literals;

std::string kind(const std::string& bytes) {
  const auto found = file_kind(std::as_bytes(std::span(bytes)), "a.x");
  return found ? std::string(found->name) : "";
}

TEST(FileKind, KnowsFilesByTheirFirstBytes) {
  EXPECT_EQ(kind("\x1F\x8B\x08\0"s), "a gzip archive");
  EXPECT_EQ(kind("\xFD\x37zXZ\0"s), "an xz archive");
  EXPECT_EQ(kind("BZh91AY&SY"), "a bzip2 archive");
  EXPECT_EQ(kind("\x28\xB5\x2F\xFD "), "a zstd archive");
  EXPECT_EQ(kind("PK\x03\x04 t.txt"), "a zip archive");
  EXPECT_EQ(kind("PK\x03\x04 archive/data.pkl"), "a file of PyTorch");
  EXPECT_EQ(kind("PK\x03\x04 ids.npy"), "a file of NumPy arrays");
  EXPECT_EQ(kind("PAR1"), "a Parquet table");
  EXPECT_EQ(kind("ARROW1\0\0"s), "an Arrow table");
  EXPECT_EQ(kind("\xFF\xFF\xFF\xFF\x10\x01\0\0"s), "an Arrow stream");
  EXPECT_EQ(kind("\x93NUMPY\x01"), "a NumPy array");
  EXPECT_EQ(kind("\x80\x04\x95 ."), "a pickle of Python");
  EXPECT_EQ(kind("\x02\0\0\0\0\0\0\0{}"s), "a safetensors file");
  EXPECT_EQ(kind("SQLite format 3\0"s), "an SQLite database");
  EXPECT_EQ(kind("%PDF-1.7"), "a PDF document");
  EXPECT_EQ(kind("SMELTPLN"), "a compiled plan");
  EXPECT_EQ(kind(std::string(257, 'a') + "ustar"), "a tar archive");
  EXPECT_EQ(kind("version https://git-lfs.github.com/spec/v1\n"),
            "a pointer of Git LFS to a file that is not here");
}

TEST(FileKind, KnowsTextsInOtherEncodings) {
  std::string little, big;
  for (const char c : "a text in UTF-16"s) little += c, little += '\0', big += '\0', big += c;
  EXPECT_EQ(kind("\xFF\xFE" + little), "a text in UTF-16");
  EXPECT_EQ(kind("\xFE\xFF" + big), "a text in UTF-16");
  EXPECT_EQ(kind("\xFF\xFE\0\0"s), "a text in UTF-32");
  EXPECT_EQ(kind(little), "a text in UTF-16");
  EXPECT_EQ(kind(big), "a text in UTF-16");
}

TEST(FileKind, KnowsWideTextsWithoutAByteOrderMark) {
  std::string little, big;
  for (const char c : "a text in UTF-32"s) little += c + "\0\0\0"s, big += "\0\0\0"s + c;
  EXPECT_EQ(kind(little), "a text in UTF-32");
  EXPECT_EQ(kind(big), "a text in UTF-32");
}

TEST(FileKind, LeavesTextsAlone) {
  for (const std::string text :
       {"", "a", "BZh is how it begins", "PK", "Objects", "PARIS", "\xEF\xBB\xBFtext", "\xC3\xA9t\xC3\xA9",
        "{\"text\": 1}", "%PD", "a\0b\0c and so on"})
    EXPECT_EQ(kind(text), "") << text;
}

TEST(FileKind, SaysWhatConverts) {
  const std::string bytes = "\x1F\x8B";
  const auto found = file_kind(std::as_bytes(std::span(bytes)), "t.gz");
  EXPECT_EQ(wrong_kind("t.gz", *found, "a text"),
            "'t.gz' is a gzip archive: expected a text; convert it: gunzip -k 't.gz'");
}

}  // namespace
}  // namespace smelt
