// Slices of a kernel: together they are the whole, each stands at its place, and what sums or draws has none.
#include "passes/program/offload/slice_kernel.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "runtime/base/error.h"

namespace smelt {
namespace {

constexpr const char* kDecay = R"(kernel @decay(%x: f32, %rate: f32, out %y: f32)
    parallel r = {0}, parallel q = {1}, column c = {2} {{
  row {{
    %0 = load %rate[0] : f32
  }}
  column {{
    %1 = load %x[r*{3} + q*{2} + c] : f32
    %2 = mul %1, %0 : f32
    %3 = index c : i32
    %4 = constant 7.0 : i32
    %5 = lt %3, %4 : bool
    %6 = select %5, %2, %1 : f32
    store %y[r*{3} + q*{2} + c] = %6 : f32
  }}
}}
)";

Kernel decay(int64_t r, int64_t q, int64_t c) {
  return parse_kernel(fmt::format(fmt::runtime(kDecay), r, q, c, q * c));
}

int64_t elements(const KernelSlice& slice) {
  int64_t count = 1;
  for (const int64_t extent : slice.extent) count *= extent;
  return count;
}

TEST(SliceKernel, SlicesFollowEachOtherAndAreTheWhole) {
  const int64_t sizes[][3] = {{1, 1, 777}, {1, 31, 64}, {3, 7, 64}, {2, 33, 128}, {1, 1, 1}, {5, 1, 197}};
  for (const auto& [r, q, c] : sizes)
    for (const int64_t wanted : {int64_t{1}, int64_t{64}, int64_t{100}, int64_t{1000}, int64_t{1} << 40}) {
      const Kernel kernel = decay(r, q, c);
      int64_t at = 0;
      for (const KernelSlice& slice : slices_of(kernel, wanted)) {
        EXPECT_EQ(slice_offset(kernel, 0, slice), at) << r << ' ' << q << ' ' << c << " in " << wanted;
        EXPECT_EQ(slice_offset(kernel, 1, slice), 0) << "one number for all";
        EXPECT_LE(elements(slice), std::max(wanted, int64_t{64} * c)) << "no longer than it may be";
        at += elements(slice);
      }
      EXPECT_EQ(at, r * q * c);
    }
}

TEST(SliceKernel, AddsWhereItBeginsToAnIndex) {
  const Kernel kernel = decay(1, 1, 777);
  ASSERT_TRUE(asks_for_index(kernel));
  const Kernel slice = slice_kernel(kernel, {1, 1, 128});
  EXPECT_EQ(slice.params.size(), 4u);
  EXPECT_EQ(slice.params.back().dtype, DType::i32);
  EXPECT_EQ(slice.axes[2].extent, Dim(128));
  const std::string text = print(slice);
  EXPECT_NE(text.find("load %first[2] : i32"), std::string::npos) << text;
  EXPECT_NE(text.find("add %"), std::string::npos) << text;
  EXPECT_EQ(print(parse_kernel(text)), text);
}

TEST(SliceKernel, KnowsWhatLiesInOrder) {
  const Kernel kernel = decay(3, 7, 64);
  EXPECT_TRUE(is_dense(kernel, 0));
  EXPECT_FALSE(is_dense(kernel, 1));
  EXPECT_TRUE(is_dense(kernel, 2));
}

TEST(SliceKernel, SumsAndNumbersByPlaceHaveNone) {
  const auto why = [](const char* text) { return why_whole(parse_kernel(text)); };
  EXPECT_EQ(why_whole(decay(1, 2, 64)), "");
  EXPECT_EQ(why(R"(kernel @sum(%x: f32, out %y: f32) parallel r = 4, column c = 64 {
  column {
    %0 = load %x[r*64 + c] : f32
    %1 = reduce add %0 : f32
  }
  row {
    store %y[r] = %1 : f32
  }
}
)"),
            "it sums over elements");
  EXPECT_EQ(why(R"(kernel @beside(%x: f32, out %y: f32, out %z: f32) column c = 64 {
  row {
    %0 = load %x[0] : f32
    store %z[0] = %0 : f32
  }
  column {
    %1 = load %x[c] : f32
    store %y[c] = %1 : f32
  }
}
)"),
            "it reads one value at several places");
  EXPECT_THROW(slice_kernel(parse_kernel("kernel @one(out %y: f32) {\n  row {\n    %0 = constant 1.0 : f32\n"
                                         "    store %y[0] = %0 : f32\n  }\n}\n"),
                            {}),
               Error);
}

}  // namespace
}  // namespace smelt
