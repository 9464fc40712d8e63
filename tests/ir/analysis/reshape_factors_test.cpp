#include "ir/analysis/reshape_factors.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/text/text.h"

namespace smelt {
namespace {

TEST(ReshapeFactors, SplitsAndMerges) {
  const auto text = [](std::string_view from, std::string_view to) {
    const auto shape = [](std::string_view type) {
      return parse_module(fmt::format("symbols B <= 4, T <= 4 graph @g(%x: f32{}) {{}}", type))
          ->graphs[0]
          ->inputs()[0]
          ->result()
          ->shape();
    };
    std::string list;
    for (const ReshapeFactor& f : reshape_factors(shape(from), shape(to)))
      list += fmt::format("{}{}:{}>{} ", f.size.str(), f.is_clear ? "" : "?",
                          f.from ? std::to_string(*f.from) : "", f.to ? std::to_string(*f.to) : "");
    return list;
  };
  EXPECT_EQ(text("[B,T,8]", "[B*T,8]"), "B:0>0 T:1>0 8:2>1 ");
  EXPECT_EQ(text("[B*T,12]", "[B,T,3,4]"), "B:0>0 T:0>1 3:1>2 4:1>3 ");
  EXPECT_EQ(text("[6,4]", "[2,12]"), "2:0>0 3:0>1 4:1>1 ");
  EXPECT_EQ(text("[6,4]", "[4,6]"), "6?:0> 4?:1> 4?:>0 6?:>1 ");
  EXPECT_EQ(text("[1,B]", "[B,1]"), "1:0> B:1>0 1:>1 ");
}

}  // namespace
}  // namespace smelt
