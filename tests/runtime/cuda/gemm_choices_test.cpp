// Choices of algorithms between processes: in a file that may be damaged or shared, and as records in
// checkpoints.
#include "runtime/cuda/gemm_choices.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "runtime/system/file.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt::cuda {
namespace {

namespace fs = std::filesystem;

const GemmPlace kHere{"GPU X 100", 130100};

LtAlgorithm algorithm(uint64_t number) {
  LtAlgorithm result;
  for (size_t i = 0; i < result.data.size(); ++i) result.data[i] = number * 0x9E3779B97F4A7C15u + i;
  return result;
}

fs::path only_file(const TemporaryDirectory& d) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(d.path())) files.push_back(entry.path());
  EXPECT_EQ(files.size(), 1u);
  return files.at(0);
}

TEST(GemmChoices, AreKeptForTheNextProcess) {
  const TemporaryDirectory d;
  {
    GemmChoices(d.path(), kHere).add({"m1"}, algorithm(1));
  }
  EXPECT_EQ(GemmChoices(d.path(), kHere).find({"m1"}), algorithm(1));
  EXPECT_FALSE(GemmChoices(d.path(), kHere).find({"m2"}));
  EXPECT_FALSE(GemmChoices(d.path(), {"GPU Y", 130100}).find({"m1"})) << "another device";
  EXPECT_FALSE(GemmChoices(d.path(), {"GPU X 100", 120000}).find({"m1"})) << "another library";
}

TEST(GemmChoices, TwoProcessesLoseNothing) {
  const TemporaryDirectory d;
  {
    GemmChoices one(d.path(), kHere), other(d.path(), kHere);
    one.add({"m1"}, algorithm(1)), other.add({"m2"}, algorithm(2));
  }
  GemmChoices both(d.path(), kHere);
  EXPECT_EQ(both.find({"m1"}), algorithm(1));
  EXPECT_EQ(both.find({"m2"}), algorithm(2));
}

TEST(GemmChoices, ManyProcessesLoseNothing) {
  constexpr int kProcesses = 8, kRounds = 20;
  const TemporaryDirectory d;
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    for (int round = 0; round < kRounds; ++round)
      GemmChoices(d.path(), kHere).add({std::to_string(process) + "/" + std::to_string(round)}, algorithm(1));
    ::_exit(0);
  }
  for (const pid_t child : children) ::waitpid(child, nullptr, 0);
  EXPECT_EQ(nlohmann::json::parse(read_text_file(only_file(d))).size(), kProcesses * kRounds);
}

TEST(GemmChoices, ADamagedFileIsMadeAgain) {
  const TemporaryDirectory d;
  {
    GemmChoices(d.path(), kHere).add({"m1"}, algorithm(1));
  }
  const fs::path file = only_file(d);
  const std::string good = read_text_file(file);
  std::string wrong_digit = good;
  wrong_digit[good.size() - 4] = 'x';
  for (const std::string& bad : {std::string(), good.substr(0, good.size() / 2), std::string("[1, 2]"),
                                 std::string("{\"m1\": 7}"), std::string("{\"m1\": \"12\"}"), wrong_digit}) {
    write_file(file, bad);
    EXPECT_FALSE(GemmChoices(d.path(), kHere).find({"m1"})) << bad;
  }
  {
    GemmChoices(d.path(), kHere).add({"m1"}, algorithm(3));
  }
  EXPECT_EQ(GemmChoices(d.path(), kHere).find({"m1"}), algorithm(3));
}

TEST(GemmChoices, ADirectoryThatCannotBeUsedIsNoError) {
  const TemporaryDirectory d;
  for (const fs::path& place :
       {fs::path("/proc/no/such/place"), d.write("file", "not a directory"), fs::path()}) {
    GemmChoices choices(place, kHere);
    choices.add({"m1"}, algorithm(1));
    EXPECT_EQ(choices.find({"m1"}), algorithm(1)) << place;
  }
}

/// What a full disk does: writing stops at some byte, and the file of before stays.
TEST(GemmChoices, AFullDiskLosesNothing) {
  const TemporaryDirectory d;
  {
    GemmChoices(d.path(), kHere).add({"m1"}, algorithm(1));
  }
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);  // the write fails instead
    const rlimit size{20, 20};
    ::setrlimit(RLIMIT_FSIZE, &size);
    {
      GemmChoices(d.path(), kHere).add({"m2"}, algorithm(2));
    }
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(GemmChoices(d.path(), kHere).find({"m1"}), algorithm(1));
  EXPECT_TRUE(only_file(d).string().ends_with(".json"));
}

TEST(GemmChoices, AFewSizesOfABucketHaveTheirOwn) {
  const TemporaryDirectory d;
  const auto size = [](int number) { return GemmKey{"b", "m" + std::to_string(number)}; };
  std::string record;
  {
    GemmChoices choices(d.path(), kHere);
    for (int i = 1; i <= GemmChoices::kMeasuredSizes; ++i) {
      EXPECT_FALSE(choices.find(size(i))) << "the bucket is known, these sizes are not";
      choices.add(size(i), algorithm(static_cast<uint64_t>(i)));
    }
    EXPECT_EQ(choices.find(size(2)), algorithm(2));
    EXPECT_EQ(choices.find(size(9)), algorithm(1)) << "as the first of the bucket";
    EXPECT_FALSE(choices.find({"other", "m9"}));
    EXPECT_EQ(choices.find({"b"}), algorithm(1)) << "small GEMMs go by the bucket";
    record = choices.record();
  }
  EXPECT_EQ(GemmChoices(d.path(), kHere).find(size(2)), algorithm(2));
  GemmChoices resumed({}, kHere);
  EXPECT_EQ(resumed.restore(record), "");
  EXPECT_EQ(resumed.find(size(9)), algorithm(1)) << "what was borrowed is part of the record";
  EXPECT_EQ(resumed.find(size(10)), algorithm(1)) << "and so is how many were measured";
}

TEST(GemmChoices, ARecordThatKnowsNoSizesGivesItsBuckets) {
  GemmChoices earlier({}, kHere), resumed({}, kHere);
  earlier.add({"b"}, algorithm(7));
  EXPECT_EQ(resumed.restore(earlier.record()), "");
  EXPECT_EQ(resumed.find({"b", "m9"}), algorithm(7)) << "not measured again: other bits";
  EXPECT_FALSE(resumed.find({"c", "m9"}));
}

TEST(GemmChoices, ARecordHoldsWhatWasUsed) {
  const TemporaryDirectory d;
  {
    GemmChoices earlier(d.path(), kHere);
    earlier.add({"m1"}, algorithm(1)), earlier.add({"m2"}, algorithm(2));
  }
  GemmChoices choices(d.path(), kHere);
  EXPECT_EQ(choices.record(), "");
  choices.find({"m2"}), choices.find({"m9"}), choices.add({"m3"}, algorithm(3));
  const auto json = nlohmann::json::parse(choices.record());
  EXPECT_EQ(json["device"], "GPU X 100");
  EXPECT_EQ(json["cublaslt"], 130100);
  EXPECT_EQ(json["algorithms"].size(), 2u);
  EXPECT_FALSE(json["algorithms"].contains("m1"));
}

TEST(GemmChoices, ARecordGoesBeforeTheFileAndNotIntoIt) {
  const TemporaryDirectory d, elsewhere;
  std::string record;
  {
    GemmChoices there(elsewhere.path(), kHere);
    there.add({"m1"}, algorithm(7));
    record = there.record();
  }
  {
    GemmChoices(d.path(), kHere).add({"m1"}, algorithm(1));
  }
  {
    GemmChoices here(d.path(), kHere);
    EXPECT_EQ(here.restore(record), "");
    EXPECT_EQ(here.find({"m1"}), algorithm(7));
    EXPECT_EQ(here.record(), record);
    here.add({"m2"}, algorithm(2));
  }
  EXPECT_EQ(GemmChoices(d.path(), kHere).find({"m1"}), algorithm(1));
  EXPECT_EQ(GemmChoices(d.path(), kHere).find({"m2"}), algorithm(2));
}

TEST(GemmChoices, OtherPlacesRecordsAreNotTaken) {
  GemmChoices there({}, {"GPU Y", 130100}), here({}, kHere);
  there.add({"m1"}, algorithm(1));
  EXPECT_EQ(here.restore(there.record()),
            "they were made on GPU Y with cuBLASLt 130100, this is GPU X 100 with cuBLASLt 130100");
  EXPECT_FALSE(here.find({"m1"}));
}

TEST(GemmChoices, RecordsThatDoNotReadAreNotTaken) {
  GemmChoices choices({}, kHere);
  choices.add({"m1"}, algorithm(1));
  const std::string good = choices.record();
  std::string short_number = good;
  short_number.erase(good.find("\"m1\"") + 7, 1);
  for (const std::string& bad :
       {std::string("x"), std::string("[]"), std::string("{}"), good.substr(0, good.size() - 1), short_number,
        std::string(R"({"device": 1, "cublaslt": 130100, "algorithms": {}})"),
        std::string(R"({"device": "GPU X 100", "cublaslt": "130100", "algorithms": {}})"),
        std::string(R"({"device": "GPU X 100", "cublaslt": 130100})"),
        std::string(R"({"device": "GPU X 100", "cublaslt": 130100, "algorithms": 3})")}) {
    GemmChoices fresh({}, kHere);
    EXPECT_EQ(fresh.restore(bad), "they do not read") << bad;
    EXPECT_EQ(fresh.record(), "") << bad;
  }
}

}  // namespace
}  // namespace smelt::cuda
