// The C interface: adapters of a continuous batch, which are loaded and dropped while requests run.
#include <gtest/gtest.h>

#include <fstream>
#include <vector>

#include "compiler/c_api/smelt_compile.h"
#include "tests/runtime/c_api/sized.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

constexpr const char* kAdaptedGolden = SMELT_SOURCE_DIR "/tests/goldens/llama-lora";

class BatchAdapters : public testing::Test {
 protected:
  ~BatchAdapters() override {
    smelt_batch_free(batch_), smelt_session_free(session_), smelt_plan_free(plan_);
    smelt_compiled_free(compiled_);
  }
  void create(const char* slots) {
    const char* options[] = {"mode=infer", "max=B=4,T=48", "cache-pages=24", "no-plan-cache", slots};
    ASSERT_EQ(smelt_compile(kAdaptedGolden, options, std::size(options), &compiled_), SMELT_OK)
        << smelt_compile_last_error();
    size_t bytes = 0;
    const void* data = smelt_compiled_data(compiled_, &bytes);
    ASSERT_EQ(smelt_plan_from_memory(data, bytes, nullptr, &plan_), SMELT_OK) << smelt_last_error();
    ASSERT_EQ(smelt_session_create(plan_, nullptr, &session_), SMELT_OK) << smelt_last_error();
    const std::filesystem::path weights = std::filesystem::path(kAdaptedGolden) / "model.safetensors";
    ASSERT_EQ(smelt_session_load_weights(session_, weights.c_str()), SMELT_OK) << smelt_last_error();
    ASSERT_EQ(smelt_batch_create(session_, nullptr, &batch_), SMELT_OK) << smelt_last_error();
  }
  smelt_status submit(const char* adapter, uint64_t* id) {
    static constexpr int32_t kIds[] = {3, 1, 4, 1, 5};
    auto request = sized<smelt_request>();
    request.ids = kIds, request.count = std::size(kIds);
    request.json = R"({"max_new_tokens": 9, "do_sample": false})", request.adapter = adapter;
    return smelt_batch_submit(batch_, &request, id);
  }
  std::vector<int32_t> rest_of(uint64_t id) {
    std::vector<int32_t> ids;
    auto progress = sized<smelt_progress>();
    for (int i = 0; i < 100 && progress.finish == SMELT_FINISH_NONE; ++i) {
      EXPECT_EQ(smelt_batch_step(batch_, nullptr), SMELT_OK);
      EXPECT_EQ(smelt_batch_poll(batch_, id, &progress), SMELT_OK) << smelt_last_error();
      ids.insert(ids.end(), progress.ids, progress.ids + progress.count);
    }
    return ids;
  }
  std::vector<int32_t> ids_with(const char* adapter) {
    uint64_t id = 0;
    EXPECT_EQ(submit(adapter, &id), SMELT_OK) << smelt_last_error();
    return rest_of(id);
  }
  smelt_status load(const char* name, const std::string& directory = kAdaptedGolden) {
    return smelt_batch_load_adapter(batch_, name, directory.c_str());
  }
  std::vector<std::string> names() {
    const char* const* list = nullptr;
    size_t count = 77;
    EXPECT_EQ(smelt_batch_list_adapters(batch_, &list, &count), SMELT_OK);
    return {list, list + count};
  }
  static void expect(smelt_status found, smelt_status expected, const char* part) {
    EXPECT_EQ(found, expected);
    EXPECT_HAS(smelt_last_error(), part);
  }

  TemporaryDirectory d_;
  smelt_compiled* compiled_ = nullptr;
  smelt_plan* plan_ = nullptr;
  smelt_session* session_ = nullptr;
  smelt_batch* batch_ = nullptr;
};

TEST_F(BatchAdapters, AreChosenByRequests) {
  create("adapters=2");
  const std::vector<int32_t> plain = ids_with(nullptr);
  EXPECT_TRUE(names().empty());
  ASSERT_EQ(load("second"), SMELT_OK) << smelt_last_error();
  ASSERT_EQ(load("first"), SMELT_OK) << smelt_last_error();
  EXPECT_EQ(names(), (std::vector<std::string>{"first", "second"}));
  const std::vector<int32_t> adapted = ids_with("first");
  EXPECT_NE(adapted, plain);
  EXPECT_EQ(ids_with("second"), adapted);
  EXPECT_EQ(ids_with(nullptr), plain);
}

TEST_F(BatchAdapters, StayUntilTheirLastRequestEnds) {
  create("adapters=1");
  uint64_t running = 0;
  ASSERT_EQ(load("first"), SMELT_OK) << smelt_last_error();
  const std::vector<int32_t> adapted = ids_with("first");
  ASSERT_EQ(submit("first", &running), SMELT_OK);
  EXPECT_EQ(smelt_batch_unload_adapter(batch_, "first"), SMELT_OK);
  EXPECT_TRUE(names().empty());
  uint64_t id = 0;
  expect(submit("first", &id), SMELT_INVALID_ARGUMENT, "there is no 'first'");
  expect(load("next"), SMELT_UNAVAILABLE, "all 1 slots are taken");
  EXPECT_EQ(rest_of(running), adapted);
  EXPECT_EQ(load("next"), SMELT_OK) << smelt_last_error();
}

TEST_F(BatchAdapters, WhatIsWrongIsNamed) {
  create("adapters=2");
  expect(smelt_batch_unload_adapter(batch_, "first"), SMELT_INVALID_ARGUMENT, "there is no 'first'");
  expect(load("first", (d_ / "absent").string()), SMELT_IO, "adapter_config.json");
  d_.write("adapter_config.json", R"({"peft_type": "LORA", "target_modules": ["q_proj"], "use_dora": true})");
  expect(load("first", d_.path().string()), SMELT_INVALID_FILE, "use_dora");
  expect(load(""), SMELT_INVALID_ARGUMENT, "its name is empty");
  EXPECT_EQ(load("first"), SMELT_OK) << smelt_last_error();
  expect(load("first"), SMELT_INVALID_ARGUMENT, "loaded already");
  EXPECT_EQ(load("second"), SMELT_OK) << "nothing has taken a slot";
  expect(smelt_batch_load_adapter(batch_, nullptr, kAdaptedGolden), SMELT_INVALID_ARGUMENT, "name");
  expect(smelt_batch_load_adapter(batch_, "third", nullptr), SMELT_INVALID_ARGUMENT, "directory");
}

TEST_F(BatchAdapters, NeedSlots) {
  create("adapters=0");
  uint64_t id = 0;
  expect(load("first"), SMELT_INVALID_ARGUMENT, "compile it with adapters=N");
  expect(submit("first", &id), SMELT_INVALID_ARGUMENT, "compile it with adapters=N");
  EXPECT_TRUE(names().empty());
}

}  // namespace
}  // namespace smelt
