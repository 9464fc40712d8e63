// Directories of images as training data.
#include <fmt/format.h>
#include <png.h>

#include <nlohmann/json.hpp>
#include <random>

#include "tests/compiler/cli.h"

namespace smelt::test {
namespace {

using Json = nlohmann::json;

class ImageCommands : public CommandLine {
 protected:
  void SetUp() override {
    CommandLine::SetUp();
    spill(path("vit.json"), R"({"family": "vit", "hidden": 16, "encoder": {"layers": 1, "heads": 2},
      "embedding": {"image_size": 8, "patch_size": 4, "channels": 3}, "head": {"classes": 2}})");
    for (int i = 0; i < 60; ++i)
      write_image(fmt::format("photos/{}/{}.png", i % 2 ? "dark" : "bright", i), i);
  }

  /// Noise of a brightness that the parity of the number decides.
  void write_image(const std::string& name, int number) const {
    fs::create_directories(path(name).parent_path());
    std::mt19937 random(static_cast<uint32_t>(number));
    png_image image{};
    image.version = PNG_IMAGE_VERSION, image.format = PNG_FORMAT_RGB;
    image.width = 5 + random() % 9, image.height = 5 + random() % 9;
    std::vector<uint8_t> pixels(size_t{3} * image.width * image.height);
    for (uint8_t& pixel : pixels) pixel = static_cast<uint8_t>(random() % 60 + (number % 2 ? 20 : 160));
    ASSERT_NE(::png_image_write_to_file(&image, path(name).c_str(), 0, pixels.data(), 0, nullptr), 0);
  }
};

TEST_F(ImageCommands, ClassesOfDirectoriesAreLearnt) {
  const Outcome trained = smelt(
      "train vit.json --data photos --held-back 0.2 --steps 40 --batch 8 --lr 0.01 --eval-every 20 --run-dir "
      "run");
  expect_good(trained);
  EXPECT_TRUE(has(trained.err, "data: 60 images\nclasses: bright, dark")) << trained.err;
  EXPECT_EQ(Json::parse(slurp(path("run/labels.json"))), Json({"bright", "dark"}));
  const Outcome found = smelt("evaluate run --data photos --held-back 0.2 --split held-back --json");
  expect_good(found);
  EXPECT_EQ(Json::parse(found.out)["accuracy"], 1.0) << found.out;
  EXPECT_EQ(Json::parse(found.out)["targets"], 12);
  write_image("one/dark/1.png", 1);  // has the number that the run gave to its class
  const Outcome one = smelt("evaluate run --data one --json");
  expect_good(one);
  EXPECT_EQ(Json::parse(one.out)["accuracy"], 1.0);
  expect_good(smelt("compile vit.json --max B=8 -o vit.plan"));
  const Outcome plan = smelt("evaluate vit.plan --weights run --data one --json");
  expect_good(plan);
  EXPECT_EQ(Json::parse(plan.out)["accuracy"], 1.0);
  EXPECT_EQ(Json::parse(plan.out)["loss"], Json::parse(one.out)["loss"]);
  spill(path("one/metadata.csv"), "file_name,label\ndark/1.png,-1\n");
  expect_error(smelt("evaluate vit.plan --weights run --data one"),
               "its label is -1: expected a number from 0 on");
  expect_error(smelt("train vit.plan --from-scratch --steps 1 --batch 2 --data photos"),
               "'vit.plan' is a plan, which has neither the preprocessor_config.json nor the names");
  expect_error(smelt("evaluate run --data photos/dark --json"), "it is in no directory of a class");
  write_image("other/grey/1.png", 1);
  expect_error(smelt("evaluate run --data other"), "its label is 'grey': expected one of 'bright', 'dark'");
}

TEST_F(ImageCommands, ARunThatStopsInAnEpochGoesOnToTheSameBits) {
  const std::string train =
      "train vit.json --data photos --seed 5 --batch 7 --threads 1 --lr 0.01 --schedule constant "
      "--checkpoint-every 5 ";
  expect_good(smelt(train + "--steps 15 --run-dir whole"));
  expect_good(smelt(train + "--steps 5 --run-dir parts"));
  const Outcome resumed = smelt(train + "--steps 15 --run-dir parts --resume");
  expect_good(resumed);
  EXPECT_FALSE(has(resumed.err, "other data")) << resumed.err;
  EXPECT_TRUE(slurp(path("whole/model/model.safetensors")) == slurp(path("parts/model/model.safetensors")));
  write_image("photos/dark/1.png", 3);
  const Outcome other = smelt(train + "--steps 17 --run-dir parts --resume");
  EXPECT_TRUE(has(other.err, "with other data")) << other.err;
}

/// The second run has the result of the check from the cache.
TEST_F(ImageCommands, DamagedImagesStopARunOrAreCounted) {
  const std::string whole = slurp(path("photos/dark/1.png"));
  spill(path("photos/dark/cut.png"), whole.substr(0, whole.size() - 20));
  spill(path("photos/dark/x.webp"), "RIFF");
  spill(path("photos/dark/notes.txt"), "");
  const std::string train = "train vit.json --steps 1 --batch 2 --data photos ";
  expect_error(smelt(train),
               "photos/dark/cut.png': PNG: it is cut off (--on-bad-row skip leaves such images out)");
  for (int i = 0; i < 2; ++i) {
    const Outcome skipped = smelt(train + "--on-bad-row skip");
    expect_good(skipped);
    EXPECT_TRUE(has(skipped.err, "data: 60 images; 2 of 62 skipped, the first: ")) << skipped.err;
    EXPECT_TRUE(has(skipped.err, "files left out for their endings: 1, the first: 'photos/dark/notes.txt'"))
        << skipped.err;
  }
}

TEST_F(ImageCommands, TablesAndNumbersOfClasses) {
  std::string table = "file_name,label\n";
  for (int i = 0; i < 60; ++i) table += fmt::format("{}/{}.png,{}\n", i % 2 ? "dark" : "bright", i, i % 2);
  spill(path("photos/metadata.csv"), table);
  const std::string train = "train vit.json --steps 1 --batch 2 --data photos ";
  const Outcome trained = smelt(train);
  expect_good(trained);
  EXPECT_FALSE(has(trained.err, "classes: ")) << trained.err;
  spill(path("photos/metadata.csv"), table + "dark/1.png,2\ndark/none.png,1\n");
  expect_error(smelt(train), "photos/dark/1.png': its label is 2: expected a class from 0 to 1");
  const Outcome skipped = smelt(train + "--on-bad-row skip");
  EXPECT_TRUE(has(skipped.err, "2 of 62 skipped")) << skipped.err;
}

TEST_F(ImageCommands, NamesThatAreNumbers) {
  write_image("digits/10/1.png", 1), write_image("digits/9/0.png", 0);
  const Outcome trained = smelt("train vit.json --steps 1 --batch 1 --data digits --run-dir run");
  expect_good(trained);
  EXPECT_TRUE(has(trained.err, "classes: 9, 10")) << trained.err;
  spill(path("digits/metadata.csv"), "file_name,label\n10/1.png,10\n9/0.png,9\n9/0.png,1\n");
  expect_good(smelt("evaluate run --data digits --json"));
  spill(path("digits/metadata.csv"), "file_name,label\n10/1.png,11\n");
  expect_error(smelt("evaluate run --data digits"), "its label is 11: expected a class from 0 to 1");
}

TEST_F(ImageCommands, OptionsOfTextsAreRefused) {
  const std::string train = "train vit.json --steps 1 --data photos ";
  expect_error(smelt(train + "--text-field text"), "leave them out for images");
  expect_error(smelt(train + "vit.json"), "mix images with other files");
  expect_error(smelt("train vit.json --steps 1 --data photos=0.5"),
               "'photos': sources of images have no shares: leave out =0.5");
  expect_error(smelt("train vit.json --steps 1 --validation-data photos"), "there is no data");
  write_image("three/a/1.png", 1), write_image("three/b/1.png", 1), write_image("three/c/1.png", 1);
  expect_error(smelt("train vit.json --steps 1 --data three"), "the images have 3 classes ('a', 'b', 'c')");
}

}  // namespace
}  // namespace smelt::test
