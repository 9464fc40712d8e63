// Test fixture for the command-line program `smelt`: runs it and checks its output.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace smelt::test {

namespace fs = std::filesystem;

/// Directory of a small GPT-2 model.
inline const fs::path kGolden = fs::path(SMELT_SOURCE_DIR) / "tests/goldens/gpt2";

inline std::string slurp(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline void spill(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

/// Whether the tests are built with AddressSanitizer. It retains freed memory and reserves address space, so
/// some tests of memory limits are skipped or have higher limits.
#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kAddressSanitizer = true;
#else
inline constexpr bool kAddressSanitizer = false;
#endif

/// Limit of a command: far more than any needs, with AddressSanitizer and on a busy machine too.
inline constexpr std::chrono::seconds kPatience{240};

struct Outcome {
  int status = -1;       // exit status; 128 + n if signal n ended the process, as in a shell
  std::string out, err;  // standard output and standard error
};

/// Fixture with a temporary working directory for each test.
class CommandLine : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "smelt-cli-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    work_ = name;
  }
  void TearDown() override { fs::remove_all(work_); }

  fs::path path(const std::string& name) const { return work_ / name; }
  std::string quoted(const std::string& name) const { return "'" + path(name).string() + "'"; }

  /// Runs a command of bash in the working directory. After kPatience the command and all processes that it
  /// started are ended, and the test fails with what they had printed.
  Outcome shell(const std::string& command) const {
    const std::string line =
        "cd '" + work_.string() + "' && { " + command + "; } >out.txt 2>err.txt </dev/null";
    const auto begin = std::chrono::steady_clock::now();
    const int status =
        std::system(fmt::format("timeout -k 5 {} bash -c \"{}\"", kPatience.count(), escaped(line)).c_str());
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    const Outcome outcome{code, slurp(path("out.txt")), slurp(path("err.txt"))};
    if (std::chrono::steady_clock::now() - begin >= kPatience)
      ADD_FAILURE() << "not at its end after " << kPatience.count() << " s: " << command
                    << "\nIt printed: " << outcome.out << outcome.err;
    return outcome;
  }
  /// Runs `smelt ARGUMENTS` with two threads. In the arguments, `$GOLDEN` is the directory kGolden.
  Outcome smelt(const std::string& arguments) const {
    return shell("export OMP_NUM_THREADS=2 GOLDEN='" + kGolden.string() + "'; " + binary() + " " + arguments);
  }
  static std::string binary() { return "'" + (fs::path(SMELT_BINARY_DIR) / "smelt").string() + "'"; }

  void expect_error(const Outcome& outcome, const std::string& part) const {
    EXPECT_EQ(outcome.status, 1) << outcome.err;
    EXPECT_NE(outcome.err.find("error: "), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find(part), std::string::npos) << "expected '" << part << "' in: " << outcome.err;
  }
  void expect_good(const Outcome& outcome) const { EXPECT_EQ(outcome.status, 0) << outcome.err; }

  /// Writes a file with lines of ASCII text, which every vocabulary in the test data can represent. Returns
  /// its path.
  fs::path write_text(const std::string& name, int lines) const {
    std::ofstream file(path(name), std::ios::binary);
    for (int i = 0; i < lines; ++i)
      file << "line " << i * 37 % 101 << " of a text that repeats itself, mostly\n";
    return path(name);
  }

 private:
  static std::string escaped(const std::string& text) {
    std::string result;
    for (const char c : text) {
      if (c == '"' || c == '\\' || c == '$' || c == '`') result += '\\';
      result += c;
    }
    return result;
  }
  fs::path work_;
};

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace smelt::test
