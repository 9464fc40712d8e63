#include "runtime/plan/plan_model.h"

#include <gtest/gtest.h>

#include "tests/runtime/example_plan.h"
#include "tests/runtime/plan/validation_fault.h"

namespace smelt {
namespace {

/// What a plan with this description is refused for.
std::string fault(const char* model) {
  Plan plan = example::plan();
  plan.model = model;
  return testing::validation_fault(plan);
}

TEST(PlanModel, MembersHaveTheirTypes) {
  const char* good = R"({"vocab_size": 7, "bos_token_id": null, "eos_token_id": [2, -1], "pad_token_id": 0,
                         "tokenizer": "bytes", "head_tied": true, "ignored_tensors": ["a.{}"], "spec": {},
                         "config": null, "generation": {"eos_token_id": 2}, "of_my_own": [[]]})";
  EXPECT_EQ(fault(good), "accepted");
  EXPECT_EQ(fault(""), "accepted");
  EXPECT_TRUE(read_plan_model("").is_null());
  EXPECT_EQ(read_plan_model(good)["eos_token_id"][0], 2);
  const std::string begin = "the description of the model";
  EXPECT_EQ(fault(R"({"spec": [1]})"), begin + ": 'spec' is [1]: expected an object");
  EXPECT_EQ(fault(R"({"config": 3})"), begin + ": 'config' is 3: expected an object or null");
  EXPECT_EQ(fault(R"({"eos_token_id": 2})"), begin + ": 'eos_token_id' is 2: expected a list of token ids");
  EXPECT_EQ(fault(R"({"eos_token_id": [2.5]})"),
            begin + ": 'eos_token_id' is [2.5]: expected a list of token ids");
  EXPECT_EQ(fault(R"({"bos_token_id": 3000000000})"),
            begin + ": 'bos_token_id' is 3000000000: expected a token id or null");
  EXPECT_EQ(fault(R"({"tokenizer": 5})"), begin + ": 'tokenizer' is 5: expected a string");
  EXPECT_EQ(fault(R"({"ignored_tensors": [5]})"),
            begin + ": 'ignored_tensors' is [5]: expected a list of strings");
  EXPECT_EQ(fault(R"({"head_tied": "yes"})"), begin + ": 'head_tied' is \"yes\": expected true or false");
  EXPECT_EQ(fault("[]"), begin + " is a list: expected an object");
  EXPECT_EQ(fault("{\"a\": "), "'" + begin +
                                   "': broken JSON at byte 7 (line 1, column 7): found the end of the "
                                   "text, expected a value (an object, a list, a string, a number, true, "
                                   "false or null)");
}

TEST(PlanModel, NestedDescriptionsEndNothing) {
  const std::string deep(100000, '[');
  EXPECT_NE(fault((R"({"generation": )" + deep).c_str()).find("nested deeper than 64"), std::string::npos);
}

}  // namespace
}  // namespace smelt
