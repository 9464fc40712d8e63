// The file tests of passes (tests/support/file_test.h): tests/passes/**/*.ir.
#include "tests/support/file_test.h"

namespace smelt {
namespace {

class FileTests : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(FileTests, Pass) { testing::run_file(GetParam(), pass_registry()); }

INSTANTIATE_TEST_SUITE_P(All, FileTests, ::testing::ValuesIn(testing::files_with("RUN", "passes")),
                         [](const auto& p) { return testing::test_name(p.param); });

TEST(FileTestRunner, SeesWhatFails) {
  using testing::check;
  EXPECT_EQ(check("t", "// CHECK: add %x\n", "  %y = add %x, %x : f32[3]\n"), "");
  EXPECT_NE(check("t", "// CHECK: sub %x\n", "  %y = add %x, %x : f32[3]\n"), "");
  EXPECT_NE(check("t", "// CHECK: add\n// CHECK-NOT: mul\n", "add\nmul\n"), "");
}

}  // namespace
}  // namespace smelt
