// Readers of rows: what they read, which rows they refuse, and files with damage.
#include "frontend/data/rows.h"

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <fstream>
#include <random>
#include <sstream>

#include "frontend/data/row_of_texts.h"
#include "frontend/data/source_paths.h"
#include "runtime/system/json_text.h"
#include "tests/fuzz/rows_fuzz.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

namespace fs = std::filesystem;
using Columns = std::vector<ColumnName>;

const fs::path kCorpus = fs::path(SMELT_SOURCE_DIR) / "tests/fuzz/corpus";

std::string contents(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

/// The rows of a file as JSON, or the message about each that is refused, as skipping them leaves it.
std::vector<std::string> rows_of(const fs::path& file, RowFormat format, const Columns& columns) {
  std::vector<std::string> rows;
  const auto reader = open_rows(file, format, columns);
  std::vector<Cell> cells;
  for (bool more = true; more;) {
    try {
      more = reader->next(cells);
      if (more) rows.push_back(Cell(cells).dump());
    } catch (const RowError& error) {
      const std::string text = error.what();
      rows.push_back(text.substr(text.find("row ")));
      more = !error.ends_file();
    }
  }
  return rows;
}

using Rows = std::vector<std::string>;

std::string gzipped(const std::string& text) {
  std::string out(text.size() + 100, '\0');
  z_stream stream{};
  EXPECT_EQ(::deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data()), stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(::deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  return out;
}

std::string zstd(const std::string& text) {
  std::string out(::ZSTD_compressBound(text.size()), '\0');
  out.resize(::ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

TEST(Rows, JsonLines) {
  const TemporaryDirectory d;
  const fs::path file = d.write("a.jsonl",
                                "\xEF\xBB\xBF{\"text\": \"a\", \"n\": {\"m\": 1}}\r\n"
                                "\n"
                                "{\"text\": null}\n"
                                "{\"other\": 1}\n"
                                "[1]\n"
                                "{\"text\": \"\xFF\"}\n"
                                "{\"text\": \"b\", \"text\": \"c\"}\n"
                                "{\"text\": \"last\"}\n\n\n");
  const Rows rows = rows_of(file, RowFormat::jsonl, {{"text"}, {"n.m", true}});
  ASSERT_EQ(rows.size(), 8u);
  EXPECT_EQ(rows[0], R"(["a",1])");
  EXPECT_EQ(rows[1], "row 2: it is empty: expected a JSON object");
  EXPECT_EQ(rows[2], "[null,null]");
  EXPECT_EQ(rows[3], "row 4: there is no column 'text': the columns are 'other'; name one of them");
  EXPECT_EQ(rows[4], "row 5: it is a list: expected a JSON object");
  EXPECT_EQ(rows[5], "row 6: byte 11 is no UTF-8: expected JSON in UTF-8");
  EXPECT_HAS(rows[6], "row 7");
  EXPECT_EQ(rows[7], R"(["last",null])");
}

TEST(Rows, CommaSeparatedValues) {
  const TemporaryDirectory d;
  const fs::path file = d.write("a.csv",
                                "text,label\r\n"
                                "plain,1\r\n"
                                "\"a \"\"quoted\"\", text\",2\n"
                                "\"two\nlines\",3\n"
                                "one\n"
                                "\n"
                                "\"x\" y,4\n"
                                ",5\n"
                                "\"no end");
  EXPECT_EQ(
      rows_of(file, RowFormat::csv, {{"label"}, {"text"}}),
      (Rows{R"(["1","plain"])", R"(["2","a \"quoted\", text"])", R"(["3","two\nlines"])",
            "row 4: it has 1 fields, and the header 2: expected as many (a field with a separator needs "
            "quotes)",
            "row 5: it is empty: expected 2 fields",
            "row 6: there is text after a field's closing quote: quotes within a field are doubled",
            R"(["5",""])", "row 8: a field in quotes has no end: the file is damaged or was cut off"}));
  EXPECT_EQ(rows_of(file, RowFormat::csv, {{"text"}, {"text"}})[0], R"(["plain","plain"])");
  EXPECT_HAS(message_of([&] { open_rows(file, RowFormat::csv, {{"texts"}}); }),
             "there is no column 'texts': the columns are 'text', 'label'");
  EXPECT_EQ(rows_of(d.write("a.tsv", "a\tb\n1\t2\n"), RowFormat::tsv, {{"b"}}), Rows{R"(["2"])"});
}

/// As spreadsheets and pandas (utf-8-sig, QUOTE_ALL) write them.
TEST(Rows, CommaSeparatedValuesWithAMarkAndEmptyLinesAtTheEnd) {
  const TemporaryDirectory d;
  const fs::path file = d.write("a.csv", "\xEF\xBB\xBF\"text\",\"label\"\r\n\"a\",\"1\"\r\n\r\n\n\r\n");
  EXPECT_EQ(rows_of(file, RowFormat::csv, {{"text"}, {"label"}}), Rows{R"(["a","1"])"});
  EXPECT_HAS(message_of([&] { open_rows(d.write("b.csv", "\xEF\xBBx,y\n"), RowFormat::csv, {{"y"}}); }),
             "no UTF-8");
  EXPECT_HAS(message_of([&] { open_rows(d.write("c.csv", "x,x\n1,2\n"), RowFormat::csv, {{"x"}}); }),
             "several columns 'x'");
}

/// Lines that a JSON parser reads, too, and must read alike.
TEST(Rows, OfTextsAloneAreThoseOfAParser) {
  const std::vector<std::string> lines = {
      R"({"text": "a"})", R"( {	"text" : "x\n\"\\\/\b\f\r\ty" , "b":"" } )",
      "{\"text\": \"\xC3\xA4\xF0\x9F\x98\x80\x7F\"}", R"({"te\nxt": "a", "": "b"})"};
  for (const std::string& line : lines) {
    const auto row = row_of_texts(line);
    ASSERT_TRUE(row) << line;
    EXPECT_EQ(*row, parse_ordered_json(line, "a line")) << line;
  }
}

/// Lines of other rows, and lines that are no JSON.
TEST(Rows, OfOtherCellsAreLeftToAParser) {
  for (const char* line : {"", "{", "{}", R"({"a": 1})", R"({"a": "b", "a": "c"})", R"({"a": "\u00e4"})",
                           R"({"a": "b",})", R"({"a": "b"} x)", R"({"a" "b"})", R"({"a": "b" "c": "d"})",
                           R"({"a": "b)", R"({"a": "b\)", R"({"a": "b\x"})", "{\"a\": \"b\tc\"}",
                           "{\"a\": \"b\nc\"}", R"(["a"])", R"({"a": {"b": "c"}})", "\"a\""})
    EXPECT_FALSE(row_of_texts(line)) << line;
}

TEST(Rows, EndingsInAnyCase) { EXPECT_EQ(row_format_of("A.JSONL.gz"), RowFormat::jsonl); }

TEST(Rows, CompressedFiles) {
  const TemporaryDirectory d;
  std::string text;
  for (int i = 0; i < 3000; ++i) text += "{\"text\": \"row " + std::to_string(i) + "\"}\n";
  const Rows plain = rows_of(d.write("a.jsonl", text), RowFormat::jsonl, {{"text"}});
  const std::string first = text.substr(0, text.size() / 2), second = text.substr(text.size() / 2);
  EXPECT_EQ(rows_of(d.write("a.jsonl.gz", gzipped(text)), RowFormat::jsonl, {{"text"}}), plain);
  EXPECT_EQ(rows_of(d.write("b.jsonl.gz", gzipped(first) + gzipped(second)), RowFormat::jsonl, {{"text"}}),
            plain);
  EXPECT_EQ(rows_of(d.write("a.jsonl.zst", zstd(text)), RowFormat::jsonl, {{"text"}}), plain);
  EXPECT_EQ(rows_of(d.write("b.jsonl.zst", zstd(first) + zstd(second)), RowFormat::jsonl, {{"text"}}), plain);
  for (const std::string& whole : {gzipped(text), zstd(text)}) {
    const auto reader =
        open_rows(d.write("c.jsonl", whole.substr(0, whole.size() - 9)), RowFormat::jsonl, {{"text"}});
    std::vector<Cell> cells;
    EXPECT_HAS(message_of([&] {
                 while (reader->next(cells)) continue;
               }),
               "was cut off");
  }
}

TEST(Rows, LargeTextsAreCutAtLines) {
  const TemporaryDirectory d;
  std::string text;
  while (text.size() < (size_t{5} << 23))
    text += "a line of text that has sixty-four bytes with its end, or so ..\n";
  const auto reader = open_rows(d.write("a.txt", text), RowFormat::text, {{"anything"}});
  std::vector<Cell> cells;
  std::string again;
  while (reader->next(cells)) {
    again += cells[0].get<std::string>();
    EXPECT_EQ(again.back(), '\n');
  }
  EXPECT_EQ(reader->row(), 3);
  EXPECT_TRUE(again == text);
}

TEST(Rows, ParquetAndArrow) {
  const Columns columns = {{"text"}, {"messages"}, {"number"}, {"share"}, {"yes"}, {"none", true}};
  const Rows one = {
      R"(["one",[{"role":"user","content":"hi"},{"role":"assistant","content":null}],1,0.5,true,null])",
      R"(["two äö",null,2,0.5,false,null])", R"([null,[],3,0.5,null,null])",
      R"(["three three three three three ",[{"role":"x","content":"y"}],null,0.5,true,null])"};
  Rows all;
  for (int i = 0; i < 4; ++i) all.insert(all.end(), one.begin(), one.end());
  for (const auto& entry : fs::directory_iterator(kCorpus / "parquet"))
    EXPECT_EQ(rows_of(entry.path(), RowFormat::parquet, columns), all) << entry.path();
  for (const auto& entry : fs::directory_iterator(kCorpus / "arrow")) {
    EXPECT_EQ(rows_of(entry.path(), RowFormat::arrow, columns), all) << entry.path();
    EXPECT_EQ(rows_of(entry.path(), RowFormat::arrow, {{"kind"}})[3], R"(["a"])");
  }
}

/// A file with damage has an Error, or rows; whatever they are, reading ends.
void read_damaged(const std::string& bytes, RowFormat format) {
  read_any_rows(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), format);
}

class DamagedRows : public ::testing::TestWithParam<std::pair<const char*, RowFormat>> {};

TEST_P(DamagedRows, AreErrors) {
  std::mt19937 random(7);
  const auto [folder, format] = GetParam();
  for (const auto& entry : fs::directory_iterator(kCorpus / folder)) {
    const std::string whole = contents(entry.path());
    for (size_t size = 0; size < whole.size(); size += 1 + whole.size() / 200)
      read_damaged(whole.substr(0, size), format);
    for (int round = 0; round < 1500; ++round) {
      std::string damaged = whole;
      for (uint32_t i = 0; i < 1 + random() % 4; ++i) {
        char& byte = damaged[random() % damaged.size()];
        byte = random() % 2 == 0 ? static_cast<char>(byte ^ (1 << random() % 8))
                                 : static_cast<char>(random() % 2 ? -1 : 127);
      }
      read_damaged(damaged, format);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, DamagedRows,
                         ::testing::Values(std::pair{"parquet", RowFormat::parquet},
                                           std::pair{"arrow", RowFormat::arrow}));

TEST(DamagedRows, OfCompressedLines) {
  std::mt19937 random(8);
  std::string text = "text,number\n";
  for (int i = 0; i < 40; ++i)
    text += "\"some \"\"text\"\" " + std::to_string(i) + "\"," + std::to_string(i) + "\r\n";
  for (const std::string& whole : {text, gzipped(text), zstd(text)})
    for (int round = 0; round < 500; ++round) {
      std::string damaged = whole.substr(0, round % 5 == 0 ? random() % whole.size() : whole.npos);
      if (!damaged.empty()) damaged[random() % damaged.size()] ^= static_cast<char>(1 << random() % 8);
      for (const RowFormat format : {RowFormat::csv, RowFormat::jsonl, RowFormat::text})
        read_damaged(damaged, format);
    }
}

TEST(Sources, AreFilesDirectoriesAndPatterns) {
  const TemporaryDirectory d;
  d.write("a.jsonl", "{}"), d.write("b.csv.gz", ""), d.write("c.bin", ""), d.write("_d.csv", "");
  d.write("LICENSE.txt", ""), d.write("README.md", "");
  const auto names = [&](const std::string& argument) {
    std::string text;
    for (const fs::path& file : read_source(argument).files) text += file.filename().string() + " ";
    return text;
  };
  EXPECT_EQ(names(d.path().string()), "a.jsonl b.csv.gz ");
  EXPECT_EQ(names((d / "*.csv*").string()), "_d.csv b.csv.gz ");
  EXPECT_EQ(names((d / "a.jsonl").string() + "=0.25"), "a.jsonl ");
  EXPECT_EQ(read_source((d / "a.jsonl").string() + "=0.25").weight, 0.25);
  EXPECT_FALSE(read_source((d / "a.jsonl").string()).weight);
  EXPECT_HAS(message_of([&] { read_source("a.jsonl=0"); }), "expected a number above 0");
  EXPECT_HAS(message_of([&] { read_source((d / "*.tsv").string()); }), "no file matches");
  EXPECT_TRUE(names_rows("-") && names_rows("x.txt=2") && names_rows("x.txt.gz") && names_rows("x.parquet"));
  EXPECT_FALSE(names_rows("x.txt") || names_rows("x.bin") || names_rows("x.safetensors"));
}

}  // namespace
}  // namespace smelt
