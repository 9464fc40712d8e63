// Functions and classes that several tests of the frontend use.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "frontend/transformer_spec.h"
#include "runtime/base/error.h"
#include "runtime/system/file.h"

namespace smelt::testing {

/// Directory of a small GPT-2 model.
inline const std::filesystem::path kGolden = std::filesystem::path(SMELT_SOURCE_DIR) / "tests/goldens/gpt2";

/// A directory for the current test, which the destructor removes.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    path = std::filesystem::temp_directory_path() / (std::string("smelt_") + test->test_suite_name() + "_" +
                                                     test->name() + "_" + std::to_string(getpid()));
    std::filesystem::create_directories(path);
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path); }
  std::filesystem::path path;
};

/// Returns the message of the Error that `action` throws. If it throws none, fails the test.
template <typename Action>
std::string message_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "no Error was thrown";
  return "";
}

/// Expects that the text contains all parts.
inline void expect_in(const std::string& text, std::initializer_list<const char*> parts) {
  for (const char* part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "' in:\n" << text;
}

/// Returns a GPT-2 decoder with unusual sizes, which are all different. `fields` is JSON with fields to
/// change.
inline TransformerSpec small_spec(const char* fields = "{}") {
  Json json = {{"family", "gpt2"},
               {"vocab_size", 131},
               {"hidden", 36},
               {"max_positions", 33},
               {"decoder", {{"layers", 3}, {"heads", 4}, {"ffn", 31}}}};
  json.merge_patch(Json::parse(fields));
  return spec_from_object(json, "test");
}

}  // namespace smelt::testing
