#include "runtime/cuda/device_model.h"

#include <gtest/gtest.h>

namespace smelt {
namespace {

TEST(DeviceModel, OfNamedArchitectures) {
  EXPECT_EQ(device_model(80).multiprocessors, 108);
  EXPECT_EQ(device_model(90).multiprocessors, 132);
  EXPECT_EQ(device_model(90).block_shared_bytes, 227 << 10);
  EXPECT_EQ(device_model(89).multiprocessor_threads, 1536);
  EXPECT_GT(device_model(100).memory_bytes_per_second, device_model(90).memory_bytes_per_second);
}

TEST(DeviceModel, OfOthersIsTheOneBefore) {
  EXPECT_EQ(device_model(87), device_model(86));
  EXPECT_EQ(device_model(120), device_model(100));
  EXPECT_EQ(device_model(70), device_model(80)) << "there is none before";
}

/// Keys of caches are made of it.
TEST(DeviceModel, ItsTextTellsModelsApart) {
  DeviceModel model = device_model(90);
  const std::string text = model.str();
  model.l2_bytes += 1;
  EXPECT_NE(model.str(), text);
  model = device_model(90), model.memory_bytes_per_second *= 1.5;
  EXPECT_NE(model.str(), text);
  model = device_model(90), model.multiprocessors -= 18;
  EXPECT_NE(model.str(), text);
}

}  // namespace
}  // namespace smelt
