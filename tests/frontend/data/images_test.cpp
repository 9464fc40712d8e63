// Images against PIL's bytes: decoders, filters and processors; damage; and directories of images.
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "frontend/data/images/image_files.h"
#include "frontend/data/images/image_folder.h"
#include "frontend/data/images/image_processor.h"
#include "runtime/system/file.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

namespace fs = std::filesystem;

const fs::path kImages = fs::path(SMELT_SOURCE_DIR) / "tests/fuzz/corpus/image";

Image decoded(const std::string& bytes, int64_t channels = 3) {
  return decode_image(std::as_bytes(std::span(bytes)), channels);
}

uint32_t crc_of(const Image& image) {
  return static_cast<uint32_t>(::crc32(0, image.pixels.data(), static_cast<uInt>(image.pixels.size())));
}

std::string message_of_bytes(const std::string& bytes) {
  return message_of([&] { decoded(bytes); });
}

/// CRCs of Pillow 13.0: ImageOps.exif_transpose(Image.open(file)).convert("RGB" or "L").tobytes().
TEST(Images, AreDecodedToTheBytesOfPil) {
  const struct {
    const char* name;
    int64_t width, height;
    uint32_t colours, grey;
  } rows[] = {{"alpha.png", 13, 11, 0x30aafb99u, 0x1d4dcc9au},
              {"bits.png", 11, 13, 0xc531b638u, 0x595cbfc6u},
              {"cmyk.jpg", 11, 13, 0xa8c03b15u, 0x659c58c3u},
              {"colours.png", 11, 13, 0xb368bbc0u, 0x9165b62fu},
              {"exif.jpg", 13, 11, 0xfd220a47u, 0x0b4579a9u},
              {"grey.jpg", 11, 13, 0xbcfae830u, 0x78c5a305u},
              {"palette.png", 11, 13, 0xcb386220u, 0xa96bab1du},
              {"progressive.jpg", 11, 13, 0x3187821cu, 0xcd46d291u},
              {"wide.png", 11, 13, 0x0805ef0au, 0x5431e375u}};
  for (const auto& row : rows) {
    const std::string bytes = read_text_file(kImages / row.name);
    const Image colours = decoded(bytes);
    EXPECT_EQ(colours.width, row.width) << row.name;
    EXPECT_EQ(colours.height, row.height) << row.name;
    EXPECT_EQ(crc_of(colours), row.colours) << row.name;
    EXPECT_EQ(crc_of(decoded(bytes, 1)), row.grey) << row.name;
  }
}

/// CRCs of Pillow 13.0: image.resize(size, filter).tobytes().
TEST(Images, AreResizedToTheBytesOfPil) {
  const Image image = decoded(read_text_file(kImages / "colours.png"));
  const struct {
    int64_t filter;
    uint32_t smaller, larger;
  } rows[] = {{1, 0x5486c7a2u, 0x006d5a3bu},
              {2, 0xb79f520du, 0x4d4dc664u},
              {3, 0x9042538au, 0x026365d1u},
              {4, 0x64e057bfu, 0x5bdde171u},
              {5, 0x4965c159u, 0x19adac38u}};
  for (const auto& row : rows) {
    EXPECT_EQ(crc_of(resize(image, 5, 4, *image_filter_of(row.filter))), row.smaller) << row.filter;
    EXPECT_EQ(crc_of(resize(image, 14, 29, *image_filter_of(row.filter))), row.larger) << row.filter;
  }
  EXPECT_FALSE(image_filter_of(0));
}

/// A file that ends early is refused, wherever it ends. The last two bytes of a PNG and of a JPEG are part of
/// what is required.
TEST(Images, CutFilesAreRefused) {
  for (const auto& entry : fs::directory_iterator(kImages)) {
    const std::string bytes = read_text_file(entry.path());
    for (size_t size = 0; size < bytes.size(); ++size)
      EXPECT_FALSE(message_of_bytes(bytes.substr(0, size)).empty()) << entry.path() << " " << size;
  }
}

/// Damage is an error, or another image.
TEST(Images, DamageIsNoCrash) {
  std::mt19937 random(4);
  for (const auto& entry : fs::directory_iterator(kImages)) {
    const std::string bytes = read_text_file(entry.path());
    for (int i = 0; i < 300; ++i) {
      std::string damaged = bytes;
      for (int k = 0; k < 1 + i % 3; ++k) damaged[random() % damaged.size()] = static_cast<char>(random());
      try {
        decoded(damaged);
      } catch (const Error&) {
      }
    }
  }
}

/// Sizes are refused before memory is taken for the pixels.
TEST(Images, HugeSizesAreRefused) {
  std::string jpeg = read_text_file(kImages / "grey.jpg"), png = read_text_file(kImages / "colours.png");
  const size_t frame = jpeg.find("\xff\xc0");
  ASSERT_NE(frame, jpeg.npos);
  jpeg.replace(frame + 5, 4, std::string("\xea\x60\xea\x60"));  // 60,000
  EXPECT_EQ(message_of_bytes(jpeg), "its size is 60000 x 60000: expected at most 89478485 pixels");
  jpeg.replace(frame + 5, 4, std::string("\x10\x00\x10\x00", 4));
  EXPECT_NE(message_of_bytes(jpeg).find("it is cut off: 377 bytes cannot have the 4096 x 4096 pixels"),
            std::string::npos);
  png.replace(16, 8, std::string("\0\0\xea\x60\0\0\xea\x60", 8));
  const uLong sum = ::crc32(0, reinterpret_cast<const Bytef*>(png.data()) + 12, 17);
  for (size_t i = 0; i < 4; ++i) png[29 + i] = static_cast<char>(sum >> (24 - 8 * i));
  EXPECT_EQ(message_of_bytes(png), "its size is 60000 x 60000: expected at most 89478485 pixels");
}

TEST(Images, OtherFilesAreRefused) {
  EXPECT_EQ(message_of_bytes(""), "the file is empty: expected a JPEG or a PNG");
  EXPECT_EQ(message_of_bytes("RIFF....WEBP"),
            "its first bytes are those of no JPEG or PNG: expected a JPEG or a PNG");
}

TEST(Images, HaveOneOrThreeChannels) {
  const std::string bytes = read_text_file(kImages / "grey.jpg");
  for (const int64_t channels : {0, 2, 4}) {
    EXPECT_HAS(message_of([&] { decoded(bytes, channels); }), "files of images have 1 or 3");
    EXPECT_HAS(message_of([&] { ImageProcessor(channels, ImageSize{8, 8, 0}); }), "have 1 or 3");
    EXPECT_HAS(message_of([&] { ImageProcessor(channels, Json::object(), "p.json"); }), "have 1 or 3");
  }
}

/// A 2 x 1 image with bytes 1 and 2 as each orientation has it upright.
TEST(Images, OrientationsTurnAnImage) {
  Image image(2, 1, 1);
  image.pixels = {1, 2};
  const std::vector<uint8_t> same = {1, 2}, turned = {2, 1};
  for (const int orientation : {0, 1, 4, 9}) EXPECT_EQ(upright(image, orientation).pixels, same);
  for (const int orientation : {2, 3}) EXPECT_EQ(upright(image, orientation).pixels, turned);
  for (const int orientation : {5, 6, 7, 8}) EXPECT_EQ(upright(image, orientation).height, 2);
  for (const int orientation : {5, 6}) EXPECT_EQ(upright(image, orientation).pixels, same);
  for (const int orientation : {7, 8}) EXPECT_EQ(upright(image, orientation).pixels, turned);
}

std::vector<float> processed(const char* config, const Image& image, int64_t height, int64_t width) {
  std::vector<float> values(static_cast<size_t>(image.channels * height * width));
  ImageProcessor(image.channels, Json::parse(config), "p.json").process(image, height, width, values);
  return values;
}

TEST(ImageProcessors, CropRescaleAndNormaliseByTheirFields) {
  Image image(3, 2, 1);
  image.pixels = {10, 20, 30, 40, 50, 60};
  const char* crops = R"({"do_resize": false, "do_center_crop": true, "crop_size": {"height": 4, "width": 1},
                          "do_rescale": false, "do_normalize": false})";
  EXPECT_EQ(processed(crops, image, 4, 1), std::vector<float>({0, 20, 50, 0}));
  const char* scales = R"({"do_resize": false, "rescale_factor": 0.1, "image_mean": 1, "image_std": [2]})";
  EXPECT_EQ(processed(scales, image, 2, 3), std::vector<float>({0, .5, 1, 1.5, 2, 2.5}));
  EXPECT_EQ(processed(R"({"do_resize": true, "size": {"shortest_edge": 4}})", image, 4, 6).size(), 24u);
  EXPECT_NE(message_of([&] { processed(scales, image, 3, 3); }).find("its size is 3 x 2: expected 3 x 3"),
            std::string::npos);
}

TEST(ImageProcessors, RefuseWhatTheyDoNotKnowByName) {
  const auto refusal = [](const char* config) {
    return message_of([&] { ImageProcessor(3, Json::parse(config), "p.json"); });
  };
  EXPECT_NE(refusal(R"({"crop_pct": 0.875})").find("the field 'crop_pct' (0.875) is not known"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"resample": 0})").find("resample is 0: expected 1 (lanczos)"), std::string::npos);
  EXPECT_NE(refusal(R"({"image_std": [1, 0, 1]})").find("expected numbers other than 0"), std::string::npos);
  EXPECT_NE(refusal(R"({"size": {"longest_edge": 3}})").find("expected a number, height and width"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"image_processor_type": "BlipImageProcessor"})").find("is 'BlipImageProcessor'"),
            std::string::npos);
  const char* good =
      R"({"do_pad": false, "pad_size": null, "image_processor_type": "DeiTImageProcessorFast"})";
  EXPECT_EQ(ImageProcessor(3, Json::parse(good), "p.json").made_size()->height, 224);
}

class ImageChecks : public ::testing::Test {
 protected:
  void SetUp() override { ::setenv("SMELT_CACHE_DIR", cache_.path().c_str(), 1); }
  void TearDown() override {
    if (before_.empty())
      ::unsetenv("SMELT_CACHE_DIR");
    else
      ::setenv("SMELT_CACHE_DIR", before_.c_str(), 1);
  }
  std::string check(ImageFile file) const {
    return check_images({&file, 1}, ImageProcessor(3, ImageSize{4, 4, 0}), {3, 4, 4}, false)[0];
  }
  bool is_cached() const { return fs::exists(cache_ / "data") && !fs::is_empty(cache_ / "data"); }

  TemporaryDirectory directory_, cache_;
  const std::string before_ = std::getenv("SMELT_CACHE_DIR") ? std::getenv("SMELT_CACHE_DIR") : "";
};

TEST_F(ImageChecks, DamageIsCachedButNotFaultsThatPass) {
  const fs::path path = directory_.write("a.png", "no image");
  const ImageFile file = find_image_file(path, 0);
  fs::rename(path, directory_ / "elsewhere");
  EXPECT_HAS(check(file), "No such file");
  EXPECT_FALSE(is_cached());
  fs::rename(directory_ / "elsewhere", path);
  EXPECT_HAS(check(file), "expected a JPEG or a PNG");
  EXPECT_TRUE(is_cached());
}

class ImageFolder : public ::testing::Test {
 protected:
  void add(const std::string& name, const std::string& bytes = "") const {
    fs::create_directories((directory_ / name).parent_path());
    directory_.write(name, bytes);
  }
  std::string shown(const std::string& name, const std::string& label = "") const {
    std::string text;
    for (const LabelledImage& image : list_images((directory_ / name).string(), label).images)
      text += fmt::format("{}={} ", image.file.filename().string(),
                          !image.fault.empty() ? "!"
                          : image.class_name   ? *image.class_name
                                               : std::to_string(*image.number));
    return text;
  }
  TemporaryDirectory directory_;
};

TEST_F(ImageFolder, ClassesAreDirectories) {
  for (const char* name : {"p/dog/b.png", "p/cat/a.JPG", "p/cat/more/c.jpeg", "p/README.md",
                           "p/.hidden/x.png", "p/stray.png", "p/dog/.b.png"})
    add(name);
  EXPECT_EQ(shown("p"), "a.JPG=cat c.jpeg=more b.png=dog stray.png=! ");
  EXPECT_EQ(shown("p/dog/*.png"), "b.png=dog ");
  EXPECT_EQ(shown("p/cat/../dog/./*.png"), "b.png=dog ");
  add("q/train/cat/a.png"), add("q/test/cat/a.png"), add("r/train/a.png"), add("r/plane/a.png");
  EXPECT_NE(message_of([&] { shown("q"); }).find("holds several data sets"), std::string::npos);
  EXPECT_EQ(shown("r"), "a.png=plane a.png=train ");
  fs::create_directories(directory_ / "empty");
  EXPECT_NE(message_of([&] { shown("empty"); }).find("has no images"), std::string::npos);
  EXPECT_NE(message_of([&] { shown("r", "kind"); }).find("--label-field kind"), std::string::npos);
}

TEST_F(ImageFolder, PartsOfDataAreNoClasses) {
  add("s/train/a.png"), add("s/test/a.png");
  EXPECT_HAS(message_of([&] { shown("s"); }), "holds several data sets: name one of '");
  add("s/train/metadata.csv", "file_name,label\na.png,1\n"), add("s/plane/a.png");
  EXPECT_HAS(message_of([&] { shown("s"); }), "/s/train'");
  EXPECT_EQ(shown("s/train"), "a.png=1 ");
}

TEST_F(ImageFolder, LinksToDirectoriesAreFollowed) {
  add("elsewhere/a.png"), add("l/dog/b.png");
  fs::create_directory_symlink("../elsewhere", directory_ / "l/cat");
  fs::create_directory_symlink("..", directory_ / "l/dog/up");
  EXPECT_EQ(shown("l"), "a.png=cat b.png=dog ");
}

TEST_F(ImageFolder, FilesWithOtherEndingsAreCounted) {
  for (const char* name : {"e/cat/a.jfif", "e/cat/b.JPE", "e/cat/c.txt", "e/cat/d"}) add(name);
  EXPECT_EQ(shown("e"), "a.jfif=cat b.JPE=cat ");
  const ListedImages listed = list_images((directory_ / "e").string(), "");
  EXPECT_EQ(listed.others, 2);
  EXPECT_EQ(listed.first_other, (directory_ / "e/cat/c.txt").string());
}

TEST_F(ImageFolder, TablesNameFilesAndLabels) {
  add("t/metadata.csv", "file_name,label,kind\na.png,3,x\nb/c.png,no,y\n,1,z\nd.png,,z\n");
  EXPECT_EQ(shown("t"), "=! a.png=3 c.png=no d.png=! ");
  EXPECT_EQ(shown("t", "kind"), "=! a.png=x c.png=y d.png=z ");
  EXPECT_NE(message_of([&] { shown("t", "colour"); }).find("there is no column 'colour'"), std::string::npos);
  EXPECT_EQ(list_images((directory_ / "t").string(), "").images[1].number, 3);
  add("t/metadata.jsonl", "{\"file_name\": \"a.png\", \"label\": 1}\n");
  EXPECT_NE(message_of([&] { shown("t"); }).find("expected one of them"), std::string::npos);
}

}  // namespace
}  // namespace smelt
