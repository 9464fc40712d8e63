// Angles, buckets, slopes and sinusoids against values that transformers 5.23 computes (ROPE_INIT_FUNCTIONS
// in float64, T5's buckets of every distance from -200 to 200).
#include "frontend/blocks/rotary.h"

#include <cmath>

#include "frontend/blocks/position_tables.h"
#include "frontend/build_transformer.h"
#include "tests/frontend/support.h"

namespace smelt {
namespace {

using testing::expect_in, testing::message_of, testing::small_spec;

struct RotaryCase {
  const char* name;
  int64_t head_dim, max_positions;
  const char* positions;
  double magnitude;
  std::vector<double> frequencies;
};

const RotaryCase kRotaryCases[] = {
    {"none",
     12,
     64,
     R"({"rope_theta": 10000})",
     1,
     {1, 0.215443469003188, 0.0464158883361278, 0.01, 0.00215443469003188, 0.000464158883361278}},
    {"linear",
     12,
     64,
     R"({"rope_theta": 500, "scaling_factor": 2.5})",
     1,
     {0.4, 0.141981466390223, 0.0503968419957949, 0.0178885438199983, 0.0063496042078728,
      0.00225381529107827}},
    {"dynamic",
     12,
     64,
     R"({"rope_theta": 500, "scaling_factor": 3})",
     1,
     {1, 0.354953665975557, 0.125992104989487, 0.0447213595499958, 0.015874010519682, 0.00563453822769568}},
    {"llama3",
     16,
     131072,
     R"({"rope_theta": 5e5, "scaling_factor": 8, "low_freq_factor": 1, "high_freq_factor": 4,
         "original_max_positions": 8192})",
     1,
     {1, 0.193922744748686, 0.0376060309308639, 0.00729266473721711, 0.000524846160992955,
      3.42810219595259e-05, 6.64786987118124e-06, 1.28917317215156e-06}},
    {"llama3",
     10,
     64,  // the original length is max_positions
     R"({"rope_theta": 50, "scaling_factor": 4, "low_freq_factor": 2, "high_freq_factor": 3})",
     1,
     {1, 0.457305051927326, 0.0726969508741575, 0.0239088124947509, 0.0109336207394328}},
    {"yarn",
     16,
     16384,
     R"({"rope_theta": 1e4, "scaling_factor": 4, "original_max_positions": 4096})",
     1.138629436111989,
     {1, 0.316227766016838, 0.1, 0.0256935059888681, 0.00625, 0.00138349647632367, 0.00025,
      7.90569415042095e-05}},
    {"yarn",
     10,
     64,
     R"({"rope_theta": 50, "scaling_factor": 3, "original_max_positions": 20, "beta_fast": 2,
         "beta_slow": 0.5, "attention_factor": 0.7})",
     0.7,
     {1, 0.355681707054587, 0.116182172510141, 0.0318784166596679, 0.0145781609859104}},
    {"yarn",
     12,
     64,
     R"({"rope_theta": 1000, "original_max_positions": 24})",  // factor = 64 / 24
     1.0980829253011726,
     {1, 0.217406589136576, 0.0375, 0.0118585412256314, 0.00375, 0.00118585412256314}},
    {"yarn",
     4,
     64,
     R"({"rope_theta": 10, "scaling_factor": 0.5, "original_max_positions": 7})",
     1,
     {1, 0.632455532033676}},
};

TransformerSpec rotary_spec(const RotaryCase& c) {
  Json json = {{"vocab_size", 31},
               {"hidden", 24},
               {"max_positions", c.max_positions},
               {"decoder", {{"layers", 1}, {"heads", 2}, {"head_dim", c.head_dim}}},
               {"positions", Json::parse(c.positions)}};
  json["positions"]["kind"] = "rope";
  json["positions"]["scaling"] = c.name;
  return spec_from_object(json, c.name);
}

TEST(Rotary, FrequenciesOfEveryScalingAreThoseOfTransformers) {
  for (const RotaryCase& c : kRotaryCases) {
    const TransformerSpec spec = rotary_spec(c);
    const std::vector<double> found = rotary_frequencies(spec, c.head_dim);
    ASSERT_EQ(found.size(), c.frequencies.size()) << c.name;
    for (size_t i = 0; i < found.size(); ++i)
      EXPECT_NEAR(found[i] / c.frequencies[i], 1, 1e-13) << c.name << " " << c.head_dim << ", pair " << i;
    EXPECT_NEAR(rotary_magnitude(spec), c.magnitude, 1e-14) << c.name;
  }
}

TEST(Rotary, TheTableTurnsByPositionTimesFrequency) {
  const RotaryCase& yarn = kRotaryCases[6];
  const TransformerSpec spec = rotary_spec(yarn);
  const RotaryTable table = rotary_table(spec, yarn.head_dim, 33);
  ASSERT_EQ(table.cosines.size(), 33u * 5);
  for (size_t row = 0; row < 33; ++row)
    for (size_t pair = 0; pair < 5; ++pair) {
      const double angle = static_cast<double>(row) * yarn.frequencies[pair];
      EXPECT_NEAR(table.cosines[row * 5 + pair], 0.7 * std::cos(angle), 1e-12);
      EXPECT_NEAR(table.sines[row * 5 + pair], 0.7 * std::sin(angle), 1e-12);
    }
}

TEST(Rotary, DynamicScalingChangesThetaWithTheLength) {
  const TransformerSpec spec = rotary_spec(kRotaryCases[2]);
  const std::vector<double> plain = rotary_frequencies(spec, 12), same = rotary_frequencies(spec, 12, 64),
                            longer = rotary_frequencies(spec, 12, 160);
  EXPECT_EQ(plain, same);
  // 500 (3 * 160 / 64 - 2)^(12 / 10)
  const double theta = 500 * std::pow(5.5, 1.2);
  for (size_t pair = 0; pair < 6; ++pair)
    EXPECT_NEAR(longer[pair] / std::pow(theta, -static_cast<double>(pair) / 6), 1, 1e-13) << pair;
  EXPECT_NO_THROW(build_transformer(spec, {.bounds = {{{"T"}, 65}}}));
}

TEST(Rotary, ScalingsThatLackANumberAreRefused) {
  for (const char* kind : {"linear", "dynamic", "llama3"})
    expect_in(message_of([&] { rotary_spec({kind, 8, 64, "{}", 1, {}}); }),
              {"1 problem", "positions.scaling_factor: 0 or missing"});
  expect_in(message_of([] { rotary_spec({"yarn", 8, 64, "{}", 1, {}}); }),
            {"1 problem", "positions.scaling_factor: 0 or missing; yarn needs it"});
  expect_in(message_of([] { rotary_spec({"yarn", 8, 0, R"({"scaling_factor": 2})", 1, {}}); }),
            {"1 problem", "max_positions: 0 or missing; positions.scaling"});
  expect_in(message_of([] {
              rotary_spec({"llama3",
                           8,
                           64,
                           R"({"scaling_factor": 2, "low_freq_factor": 4, "high_freq_factor": 4})",
                           1,
                           {}});
            }),
            {"1 problem", "positions.high_freq_factor: 4", "low_freq_factor = 4"});
}

struct BucketCase {
  int64_t buckets, max_distance;
  bool causal;
  std::vector<std::pair<int64_t, int64_t>> runs;  // a distance from -200 on, and the bucket from there on
};

const BucketCase kBucketCases[] = {
    {32, 128, false, {{-200, 15}, {-90, 14}, {-63, 13}, {-45, 12}, {-31, 11}, {-22, 10}, {-15, 9}, {-11, 8},
                      {-7, 7},    {-6, 6},   {-5, 5},   {-4, 4},   {-3, 3},   {-2, 2},   {-1, 1},  {0, 0},
                      {1, 17},    {2, 18},   {3, 19},   {4, 20},   {5, 21},   {6, 22},   {7, 23},  {8, 24},
                      {12, 25},   {16, 26},  {23, 27},  {32, 28},  {46, 29},  {64, 30},  {91, 31}}},
    {32, 128, true, {{-200, 31}, {-112, 30}, {-98, 29}, {-86, 28}, {-76, 27}, {-66, 26}, {-58, 25}, {-51, 24},
                     {-45, 23},  {-39, 22},  {-34, 21}, {-30, 20}, {-26, 19}, {-23, 18}, {-20, 17}, {-18, 16},
                     {-15, 15},  {-14, 14},  {-13, 13}, {-12, 12}, {-11, 11}, {-10, 10}, {-9, 9},   {-8, 8},
                     {-7, 7},    {-6, 6},    {-5, 5},   {-4, 4},   {-3, 3},   {-2, 2},   {-1, 1},   {0, 0}}},
    {10, 11, false, {{-200, 4}, {-6, 3}, {-3, 2}, {-1, 1}, {0, 0}, {1, 6}, {2, 7}, {4, 8}, {7, 9}}},
    {10,
     11,
     true,
     {{-200, 9}, {-9, 8}, {-8, 7}, {-6, 6}, {-5, 5}, {-4, 4}, {-3, 3}, {-2, 2}, {-1, 1}, {0, 0}}},
    {32, 40, false, {{-200, 15}, {-32, 14}, {-26, 13}, {-21, 12}, {-17, 11}, {-14, 10}, {-11, 9}, {-9, 8},
                     {-7, 7},    {-6, 6},   {-5, 5},   {-4, 4},   {-3, 3},   {-2, 2},   {-1, 1},  {0, 0},
                     {1, 17},    {2, 18},   {3, 19},   {4, 20},   {5, 21},   {6, 22},   {7, 23},  {8, 24},
                     {10, 25},   {12, 26},  {15, 27},  {18, 28},  {22, 29},  {27, 30},  {33, 31}}},
    {7, 200, false, {{-200, 2}, {-14, 1}, {0, 0}, {1, 4}, {15, 5}}},
    {7, 200, true, {{-200, 6}, {-69, 5}, {-24, 4}, {-8, 3}, {-2, 2}, {-1, 1}, {0, 0}}},
    {64, 150, false, {{-200, 31}, {-130, 30}, {-113, 29}, {-98, 28}, {-85, 27}, {-74, 26}, {-64, 25},
                      {-56, 24},  {-48, 23},  {-42, 22},  {-37, 21}, {-32, 20}, {-27, 19}, {-24, 18},
                      {-21, 17},  {-18, 16},  {-15, 15},  {-14, 14}, {-13, 13}, {-12, 12}, {-11, 11},
                      {-10, 10},  {-9, 9},    {-8, 8},    {-7, 7},   {-6, 6},   {-5, 5},   {-4, 4},
                      {-3, 3},    {-2, 2},    {-1, 1},    {0, 0},    {1, 33},   {2, 34},   {3, 35},
                      {4, 36},    {5, 37},    {6, 38},    {7, 39},   {8, 40},   {9, 41},   {10, 42},
                      {11, 43},   {12, 44},   {13, 45},   {14, 46},  {15, 47},  {16, 48},  {19, 49},
                      {22, 50},   {25, 51},   {28, 52},   {33, 53},  {38, 54},  {43, 55},  {49, 56},
                      {57, 57},   {65, 58},   {75, 59},   {86, 60},  {99, 61},  {114, 62}, {131, 63}}},
    {12,
     100,
     true,
     {{-200, 11},
      {-62, 10},
      {-39, 9},
      {-24, 8},
      {-15, 7},
      {-9, 6},
      {-5, 5},
      {-4, 4},
      {-3, 3},
      {-2, 2},
      {-1, 1},
      {0, 0}}},
};

TEST(DistanceBuckets, AreThoseOfT5) {
  for (const BucketCase& c : kBucketCases) {
    TransformerSpec::Positions positions;
    positions.buckets = c.buckets, positions.max_distance = c.max_distance;
    const std::vector<double> found = distance_buckets(positions, 201, c.causal);
    ASSERT_EQ(found.size(), 401u);
    size_t run = 0;
    for (int64_t distance = -200; distance <= 200; ++distance) {
      if (run + 1 < c.runs.size() && c.runs[run + 1].first == distance) ++run;
      EXPECT_EQ(found[static_cast<size_t>(distance + 200)], static_cast<double>(c.runs[run].second))
          << c.buckets << " buckets to " << c.max_distance << (c.causal ? ", causal" : "") << ": "
          << distance;
    }
  }
}

TEST(DistanceBuckets, TooFewOfThemAreRefused) {
  const auto relative = [](const char* stack, int64_t buckets, int64_t max_distance) {
    Json json = {{"vocab_size", 31}, {"hidden", 24}};
    json[stack] = {{"layers", 1}, {"heads", 2}};
    json["positions"] = {{"kind", "relative_buckets"}, {"buckets", buckets}, {"max_distance", max_distance}};
    return spec_from_object(json, "test");
  };
  EXPECT_NO_THROW(relative("decoder", 2, 2));
  EXPECT_NO_THROW(relative("encoder", 4, 2));
  expect_in(message_of([&] { relative("encoder", 3, 9); }), {"positions.buckets: 3", "at least 4"});
  expect_in(message_of([&] { relative("decoder", 16, 8); }), {"positions.max_distance: 8", "more than 8"});
  expect_in(message_of([&] { relative("encoder", 16, 4); }), {"positions.max_distance: 4", "more than 4"});
}

void expect_rows(const std::vector<double>& table, const std::vector<double>& expected) {
  ASSERT_EQ(table.size(), expected.size());
  for (size_t i = 0; i < table.size(); ++i) EXPECT_NEAR(table[i], expected[i], 1e-7) << i;
}

TEST(Sinusoids, HalvesAreThoseOfMarian) {
  const std::vector<double> even = sinusoids(5, 6, false), odd = sinusoids(5, 7, false);
  expect_rows({even.end() - 12, even.end()},
              {0.141120002, 0.138798103, 0.00646325899, -0.989992499, 0.990320683, 0.999979138, -0.756802499,
               0.184598729, 0.00861763209, -0.653643608, 0.982813954, 0.999962866});
  expect_rows(
      {odd.end() - 14, odd.end()},
      {0.141120002, 0.214232191, 0.0155377984, 0.0011182779, -0.989992499, 0.976782739, 0.999879301,
       -0.756802499, 0.283914626, 0.0207164157, 0.00149103696, -0.653643608, 0.958849549, 0.999785364});
}

/// As in "Attention Is All You Need": sine at even places, cosine at odd ones.
TEST(Sinusoids, InterleavedPairsShareAFrequency) {
  for (const int64_t width : {6, 7}) {
    const std::vector<double> table = sinusoids(33, width, true);
    for (int64_t row = 0; row < 33; ++row)
      for (int64_t i = 0; i < width; ++i) {
        const double angle = static_cast<double>(row) /
                             std::pow(10000, static_cast<double>(i / 2 * 2) / static_cast<double>(width));
        EXPECT_NEAR(table[static_cast<size_t>(row * width + i)], i % 2 ? std::cos(angle) : std::sin(angle),
                    1e-12);
      }
  }
}

TEST(Alibi, SlopesAreThoseOfBloom) {
  expect_rows(alibi_slopes(1), {0.00390625});
  expect_rows(alibi_slopes(3), {0.0625, 0.00390625, 0.25});
  expect_rows(alibi_slopes(12),
              {0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.00390625, 0.707106781186548,
               0.353553390593274, 0.176776695296637, 0.0883883476483185});
}

}  // namespace
}  // namespace smelt
