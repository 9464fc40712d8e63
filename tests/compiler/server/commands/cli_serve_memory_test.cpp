// `smelt serve` where the system refuses memory. The sanitizers end a process that is refused any.
#if defined(SMELT_SERVER) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#include <sys/resource.h>

#include "tests/compiler/served_model.h"

namespace smelt::test {
namespace {

constexpr rlim_t kMiB = rlim_t{1} << 20;

class LimitedServer : public Server {
 protected:
  rlim_t mapped() const {
    std::istringstream status(slurp("/proc/" + std::to_string(process()) + "/status"));
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("VmSize:")) return static_cast<rlim_t>(std::stoll(line.substr(7))) << 10;
    return RLIM_INFINITY;
  }
  void limit(rlim_t bytes) const {
    const rlimit limits{bytes, RLIM_INFINITY};
    ASSERT_EQ(::prlimit(process(), RLIMIT_AS, &limits, nullptr), 0);
  }
  /// Posts many large bodies at the same time: each is refused, as its JSON is or for want of memory.
  void post_all(const std::string& body) const {
    std::vector<std::future<std::string>> clients;
    for (int i = 0; i < 12; ++i)
      clients.push_back(std::async(
          std::launch::async, [&] { return client().status(client().post_text("/v1/completions", body)); }));
    for (auto& each : clients)
      EXPECT_TRUE((std::set<std::string>{"no answer", "400", "503"}.contains(each.get())));
  }
};

std::string repeated(const std::string& first, const std::string& part, size_t bytes) {
  std::string text = first;
  while (text.size() < bytes) text += part;
  return text + "1]}";
}

TEST_F(LimitedServer, RefusesRequestsAndGoesOn) {
  start(kGolden.string());
  ASSERT_EQ(completion({{"prompt", {1}}, {"max_tokens", 1}})["choices"].size(), 1U);
  constexpr size_t kBytes = size_t{2} << 20;
  const rlim_t before = mapped();
  for (const rlim_t more : {8 * kMiB, 150 * kMiB})
    for (const char* part : {"1,", "[],", R"({"a":1},)"}) {
      limit(before + more);
      post_all(repeated(R"({"prompt": [)", part, kBytes));
      limit(RLIM_INFINITY);
      EXPECT_EQ(completion({{"prompt", {1}}, {"max_tokens", 1}})["choices"].size(), 1U);
    }
  EXPECT_EQ(end(SIGTERM), 0) << slurp(path("err.txt"));
}

TEST_F(LimitedServer, DoesNotStartWhereItCouldNotServe) {
  expect_error(shell("ulimit -v 560000; timeout 60 " + binary() + " serve " + kGolden.string() + " --port 0"),
               "memory");
}

}  // namespace
}  // namespace smelt::test
#endif
