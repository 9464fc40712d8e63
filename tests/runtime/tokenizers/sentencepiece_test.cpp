#include <gtest/gtest.h>

#include <random>

#include "runtime/base/error.h"
#include "runtime/system/file.h"
#include "runtime/tokenizers/sentencepiece/spm_parts.h"
#include "runtime/tokenizers/tokenizer.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

const std::filesystem::path kMarian = SMELT_SOURCE_DIR "/tests/runtime/tokenizers/goldens/marian";

std::string source() { return read_text_file(kMarian / "source.spm"); }

SpmFile small_file() {
  SpmFile file;
  file.pieces = {{"<unk>", 0, SpmPiece::unknown},
                 {"▁", -2, SpmPiece::normal},
                 {"▁a", -1, SpmPiece::normal},
                 {"b", -3, SpmPiece::normal},
                 {"K K", 0, SpmPiece::user_defined}};
  return file;
}

std::string normalized(const SpmFile& file, std::string_view text) {
  AlignedText aligned = AlignedText::of(text);
  spm_normalizer(file, "test")->normalize(aligned);
  EXPECT_EQ(aligned.bytes.size(), aligned.source.size());
  return aligned.bytes;
}

TEST(SentencePiece, ReadsPiecesAndRules) {
  const SpmFile file = parse_spm(source(), "source.spm");
  EXPECT_GT(file.pieces.size(), 100u);
  EXPECT_EQ(file.pieces[0].text, "<unk>");
  EXPECT_EQ(file.first(SpmPiece::unknown), 0);
  EXPECT_EQ(file.model_type, SpmFile::unigram);
  EXPECT_FALSE(file.charsmap.empty());
}

TEST(SentencePiece, JoinsAndMarksSpaces) {
  SpmFile file = small_file();
  EXPECT_EQ(normalized(file, "  a   b "), "▁a▁b");
  EXPECT_EQ(normalized(file, "   "), "");
  EXPECT_EQ(normalized(file, "aK K"), "▁aK▁K");
  file.remove_extra_whitespaces = false;
  EXPECT_EQ(normalized(file, " a  b "), "▁▁a▁▁b▁");
  file.add_dummy_prefix = false;
  EXPECT_EQ(normalized(file, "a b"), "a▁b");
  file.treat_whitespace_as_suffix = file.add_dummy_prefix = true;
  EXPECT_EQ(normalized(file, "a b"), "a▁b▁");
}

/// Cuts and changed bytes: an Error, or a file that encodes.
TEST(SentencePiece, BrokenFilesAreRefusedOrRead) {
  const std::string good = source();
  const auto vocabulary = read_json_file(kMarian / "vocab.json");
  const auto try_read = [&](const std::string& bytes) {
    try {
      const SpmFile file = parse_spm(bytes, "broken.spm");
      const Tokenizer tokenizer(
          std::make_shared<TokenizerParts>(marian_parts(file, file, vocabulary, "broken.spm")));
      tokenizer.encode("Ａ text, of some words\u00AD.");
    } catch (const Error&) {
    }
  };
  for (size_t size = 0; size < good.size(); size += 7) try_read(good.substr(0, size));
  std::mt19937 random(2);
  for (int i = 0; i < 400; ++i) {
    std::string bytes = good;
    for (int change = 0; change < 3; ++change) bytes[random() % bytes.size()] = static_cast<char>(random());
    try_read(bytes);
  }
}

TEST(SentencePiece, AFaultNamesFileAndByte) {
  try {
    parse_spm(source().substr(0, 100), "x.spm");
    FAIL();
  } catch (const Error& error) {
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "'x.spm': a field that ends behind its message before byte",
                        error.what());
  }
}

TEST(SentencePiece, OtherTypesOfModelsAreRefused) {
  SpmFile file = small_file();
  file.model_type = SpmFile::bpe;
  EXPECT_THROW(spm_model(file, "test"), Error);
}

TEST(SentencePiece, T5HasSentinelsBehindItsPieces) {
  SpmFile file = small_file();
  file.pieces.push_back({"</s>", 0, SpmPiece::control});
  const Tokenizer tokenizer(std::make_shared<TokenizerParts>(t5_parts(file, "test")));
  EXPECT_EQ(tokenizer.encode("a<extra_id_0> ab").ids, (std::vector<int32_t>{2, 105, 2, 3, 5}));
  EXPECT_EQ(tokenizer.token_to_id("<extra_id_99>"), 6);
}

TEST(SentencePiece, ADirectoryWithoutATokenizerSaysWhatIsExpected) {
  const TemporaryDirectory directory;
  EXPECT_TRUE(Tokenizer::files_in(directory.path()).empty());
  try {
    Tokenizer::load(directory.path());
    FAIL();
  } catch (const Error& error) {
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "expected tokenizer.json", error.what());
  }
}

TEST(SentencePiece, FilesOfADirectoryAreThoseOfItsFirstWholeKind) {
  const TemporaryDirectory directory;
  const auto files = [&] {
    std::vector<std::string> names;
    for (const auto& path : Tokenizer::files_in(directory.path())) names.push_back(path.filename());
    return names;
  };
  directory.write("vocab.json", "{}"), directory.write("source.spm", "");
  EXPECT_EQ(files(), std::vector<std::string>());
  directory.write("spiece.model", "");
  EXPECT_EQ(files(), (std::vector<std::string>{"spiece.model"}));
  directory.write("target.spm", "");
  EXPECT_EQ(files(), (std::vector<std::string>{"source.spm", "target.spm", "vocab.json"}));
  directory.write("tokenizer.json", "{}");
  EXPECT_EQ(files(), (std::vector<std::string>{"tokenizer.json"}));
}

}  // namespace
}  // namespace smelt
