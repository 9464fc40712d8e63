#include "ir/sharding.h"

#include <gtest/gtest.h>

#include "runtime/error.h"

namespace smelt {
namespace {

TEST(Mesh, CountsRanksRowMajor) {
  const Mesh mesh = parse_mesh("data=2,model=3,stage=2");
  EXPECT_EQ(mesh.ranks(), 12);
  EXPECT_EQ(mesh.coordinates(7), (std::vector<int64_t>{1, 0, 1}));
  EXPECT_EQ(mesh.group(7, 0), (std::vector<int64_t>{1, 7}));
  EXPECT_EQ(mesh.group(7, 1), (std::vector<int64_t>{7, 9, 11}));
  EXPECT_EQ(mesh.group(7, 2), (std::vector<int64_t>{6, 7}));
  EXPECT_EQ(str(mesh), "data = 2, model = 3, stage = 2");
}

TEST(Mesh, EveryRankIsInOneGroupOfEachAxis) {
  const Mesh mesh = parse_mesh("a=3,b=1,c=4");
  for (size_t axis = 0; axis < mesh.axes.size(); ++axis)
    for (int64_t rank = 0; rank < mesh.ranks(); ++rank) {
      const std::vector<int64_t> group = mesh.group(rank, axis);
      ASSERT_EQ(group.size(), static_cast<size_t>(mesh.axes[axis].size));
      EXPECT_EQ(group[static_cast<size_t>(mesh.coordinates(rank)[axis])], rank);
      for (const int64_t member : group) EXPECT_EQ(mesh.group(member, axis), group);
    }
}

TEST(Mesh, SaysWhatIsNone) {
  for (const char* text : {"", "data", "data=", "data=0", "data=-1", "data=2,", "=2", "2=2", "da ta=2",
                           "data=2x", "data=2,data=2", "data=65537", "a=256,b=257"})
    EXPECT_THROW(parse_mesh(text), Error) << text;
  EXPECT_EQ(parse_mesh("a=256,b=256").ranks(), 65536);
}

TEST(Sharding, SaysAxesOfDimsAndWhatIsPartial) {
  const Mesh mesh = parse_mesh("data=2,model=2,stage=2");
  EXPECT_EQ(str(Sharding{{{0}, {}, {1, 2}}, {}}, mesh), "[data, -, model + stage]");
  EXPECT_EQ(str(Sharding{{{}}, {0, 1}}, mesh), "[-] partial [data, model]");
  EXPECT_EQ(str(Sharding{}, mesh), "[]");
  EXPECT_TRUE((Sharding{{{}, {}}, {}}.is_replicated()));
  EXPECT_FALSE((Sharding{{{}, {1}}, {}}.is_replicated()));
  EXPECT_FALSE((Sharding{{{}}, {0}}.is_replicated()));
}

}  // namespace
}  // namespace smelt
