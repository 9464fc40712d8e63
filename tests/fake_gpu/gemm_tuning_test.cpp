// Which algorithm a GEMM gets, by a clock that may be coarse.
#include <nlohmann/json.hpp>

#include "tests/fake_gpu/example.h"

namespace smelt::fake {
namespace {

class GemmTuning : public FakeGpu {
 protected:
  /// The index of the algorithm that is chosen where GEMMs take so long.
  static std::string chosen(std::vector<double> milliseconds) {
    gpu().milliseconds_by_algorithm = std::move(milliseconds);
    const auto ready = session();
    train(*ready, 0);
    return nlohmann::json::parse(ready->executor().choices())["algorithms"].front().get<std::string>().substr(
        0, 16);
  }
  static std::string index(int i) { return "000000000000000" + std::to_string(i); }
};

TEST_F(GemmTuning, TheFastestIsTaken) { EXPECT_EQ(chosen({3, 1, 2}), index(1)); }

TEST_F(GemmTuning, ManyRunsTellApartWhatARoughClockCannot) {
  gpu().clock_step = 0.02;
  EXPECT_EQ(chosen({0.115, 0.112, 0.1, 0.114}), index(2));
}

TEST_F(GemmTuning, LongProductsRunAFewTimesOnly) {
  chosen({50, 50, 50});
  EXPECT_LE(gpu().gemms, 3 * 5 + 1);
}

TEST_F(GemmTuning, AClockThatStandsStillIsNoFault) {
  gpu().clock_step = 1e6;
  EXPECT_NO_THROW(chosen({1, 2}));
}

}  // namespace
}  // namespace smelt::fake
