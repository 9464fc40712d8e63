// NCCL on machines that have no GPU, and mostly no NCCL.
#include "runtime/cuda/nccl.h"

#include <gtest/gtest.h>

#include <string>

#include "runtime/base/error.h"

#if __has_include(<nccl.h>)
#include <nccl.h>
static_assert(sizeof(ncclUniqueId) == sizeof(smelt::cuda::NcclId));
static_assert(ncclUint8 == smelt::cuda::kNcclBytes);
static_assert(ncclSum == smelt::cuda::kNcclAdd && ncclMax == smelt::cuda::kNcclMax);
#endif

namespace smelt::cuda {
namespace {

TEST(Nccl, IsFoundOrMissedByName) {
  try {
    EXPECT_FALSE(nccl_info().version.empty());
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::unavailable);
    EXPECT_NE(std::string(error.what()).find("NCCL"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("libnccl.so.2"), std::string::npos) << error.what();
  }
}

TEST(Nccl, AddsUpNumbersOnly) {
  EXPECT_EQ(nccl_type(DType::bf16), 9);
  EXPECT_EQ(nccl_type(DType::f32), 7);
  EXPECT_THROW(nccl_type(DType::boolean), Error);
}

}  // namespace
}  // namespace smelt::cuda
